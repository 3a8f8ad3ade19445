package chaos

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// advisories notes what the servers tell about the groups' consumers: new
// leaders, pins, deletions. It has a connection of its own. A server that ends
// may take some with it, and while this connection is made anew none are heard.
type advisories struct {
	conn    *nats.Conn
	journal *journal
	members map[string]string // by stream and consumer
}

const advisoryPrefix = "$JS.EVENT.ADVISORY.CONSUMER."

// followAdvisories notes them until close is called.
func followAdvisories(c *cluster, j *journal, groups []*group) (*advisories, error) {
	a := &advisories{journal: j, members: map[string]string{}}
	for _, g := range groups {
		for _, m := range g.allMembers() {
			a.members[g.consumerStream()+"."+g.consumer(m)] = fmt.Sprintf("%s/%s", g, m)
		}
	}
	var err error
	if a.conn, err = c.connect("advisories", nats.DisconnectErrHandler(func(*nats.Conn, error) {
		j.note("advisories", "may be missing from here on: the connection is lost")
	}), nats.ReconnectHandler(func(*nats.Conn) {
		j.note("advisories", "are heard again")
	})); err != nil {
		return nil, err
	}
	for _, kind := range []string{"LEADER_ELECTED", "QUORUM_LOST", "PINNED", "UNPINNED", "CREATED", "DELETED"} {
		if _, err := a.conn.Subscribe(advisoryPrefix+kind+".>", a.heard); err != nil {
			a.conn.Close()
			return nil, err
		}
	}
	return a, nil
}

func (a *advisories) close() { a.conn.Close() }

func (a *advisories) heard(m *nats.Msg) {
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, advisoryPrefix), ".")
	var what struct {
		Stream   string `json:"stream"`
		Consumer string `json:"consumer"`
		Leader   string `json:"leader"`
		Pin      string `json:"pinned_id"`
		Reason   string `json:"reason"`
	}
	if json.Unmarshal(m.Data, &what) != nil {
		return
	}
	member, ok := a.members[what.Stream+"."+what.Consumer]
	if !ok {
		return
	}
	if kind == "LEADER_ELECTED" {
		a.journal.elected(what.Stream, what.Consumer)
	}
	// As an instance's notes begin, so that it shows where that member's do.
	a.journal.note("server", "%s/ %s %s", member, strings.ToLower(kind), strings.TrimSpace(what.Leader+" "+what.Pin+" "+what.Reason))
}

// elected notes that a consumer has a new leader.
func (j *journal) elected(stream, consumer string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.leaders[stream+"."+consumer] = append(j.leaders[stream+"."+consumer], time.Now())
}

// leaderMoved tells whether a consumer may have got a new leader between two
// times: the server said so, or its servers were being disturbed.
func (j *journal) leaderMoved(stream, consumer string, from, to time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, at := range j.leaders[stream+"."+consumer] {
		if at.After(from.Add(-leaderSlack)) && at.Before(to.Add(leaderSlack)) {
			return true
		}
	}
	for _, d := range j.disturbances {
		if d.group == "" && d.from.Before(to) && (d.to.IsZero() || from.Before(d.to.Add(grace))) {
			return true
		}
	}
	return false
}

// leaderSlack is how much later than the instance of a thing an advisory of it, or
// the thing itself, may be heard.
const leaderSlack = 500 * time.Millisecond
