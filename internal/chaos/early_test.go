package chaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retold is a message that instance a got first and is at, and that instance b
// gets again, with all that makes it the server's doing. A test leaves one out.
type retold struct {
	waited  time.Duration // in the stream, before b gets it
	between time.Duration // the two deliveries
	said    string        // by somebody, in between
	by      string        // consumer of the second delivery
	times   uint64        // of the second delivery
	moved   bool          // the consumer's leader
	lost    int           // records
	other   bool          // b gets another message of the key instead
}

// kinds plays it and tells the violations found and how many were counted apart.
func (c retold) kinds(t *testing.T) (bad string, early int) {
	t.Helper()
	j := newTestJudge(t)
	j.records, j.excuses = newRecords(), true
	now := time.Now()
	stored := now.Add(-c.waited)
	id := messageID{j.stream, 1, stored.UnixNano()}
	j.records.lost = c.lost
	j.records.of[id] = []record{{now.Add(-c.between), got, "a", "m", 1}}
	if c.said != "" {
		j.records.add(id, record{what: c.said, instance: "c", consumer: "m", deliveries: 1})
	}
	if c.moved {
		j.journal.elected(j.stream, "m")
	}
	first, err := j.begin(delivered{data: "k 1", stored: 1, times: 1, at: stored}, "m", "a")
	if err != nil {
		t.Fatal(err)
	}
	first.begun = now.Add(-c.between)
	second := delivered{data: "k 1", stored: 1, times: c.times, at: stored}
	if c.other {
		second = delivered{data: "k 2", stored: 2, times: 1, at: stored}
		id.seq = 2
	}
	j.records.add(id, record{what: got, instance: "b", consumer: c.by, deliveries: second.times})
	if _, err := j.begin(second, "m", "b"); err != nil {
		t.Fatal(err)
	}
	return kinds(j), j.counts().early
}

// Prevents: an overlap of the library's making that is put down to the server.
// With one link of the proof missing it is a violation.
func TestJudgeProvesWhatIsGivenOutEarly(t *testing.T) {
	whole := retold{waited: 2 * minAckWait, between: time.Second, by: "m", times: 2, moved: true}
	if bad, early := whole.kinds(t); bad != "" || early != 1 {
		t.Errorf("all is proven: found %q, %d counted apart", bad, early)
	}
	for name, spoil := range map[string]func(*retold){
		"somebody gave it back":             func(c *retold) { c.said = givenBack },
		"somebody terminated it":            func(c *retold) { c.said = terminated },
		"somebody acknowledged it":          func(c *retold) { c.said = acknowledged },
		"no leader changed":                 func(c *retold) { c.moved = false },
		"it was not overdue for a new one":  func(c *retold) { c.waited = minAckWait / 2 },
		"the ack deadline may have passed":  func(c *retold) { c.between = soonest + 100*time.Millisecond },
		"another consumer delivered it":     func(c *retold) { c.by = "other" },
		"it is no later delivery":           func(c *retold) { c.times = 1 },
		"something said may be missing":     func(c *retold) { c.lost = 1 },
		"it is another message of that key": func(c *retold) { c.other = true },
	} {
		c := whole
		spoil(&c)
		if bad, early := c.kinds(t); bad != "overlap" || early != 0 {
			t.Errorf("%s: found %q, %d counted apart; want an overlap", name, bad, early)
		}
	}
	// To ask for more time is not to give back.
	c := whole
	c.said = moreTime
	if bad, early := c.kinds(t); bad != "" || early != 1 {
		t.Errorf("more time was asked for: found %q, %d counted apart", bad, early)
	}
}

// Prevents: what follows from one message given out early being counted as
// violations of their own, and what has nothing to do with it being excused.
func TestJudgeGoesOnAfterWhatWasGivenOutEarly(t *testing.T) {
	j := newTestJudge(t)
	j.records, j.excuses = newRecords(), true
	stored := time.Now().Add(-2 * minAckWait)
	start := func(key string, seq uint64, instance string, times uint64) *execution {
		t.Helper()
		j.records.add(messageID{j.stream, seq, stored.UnixNano()}, record{what: got, instance: instance, consumer: "m", deliveries: times})
		x, err := j.begin(delivered{data: key, stored: seq, times: times, at: stored}, "m", instance)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	end := func(x *execution) { x.worked(); x.acknowledged() }
	a := start("k 1", 1, "a", 1)
	j.journal.elected(j.stream, "m")
	b := start("k 1", 1, "b", 2)
	end(b)
	c := start("k 2", 2, "b", 1)
	end(a) // late, and nobody's fault
	end(c)
	// An instance that had it waiting starts it although another one has it by now.
	d := start("k 3", 3, "b", 1)
	j.records.add(messageID{j.stream, 4, stored.UnixNano()}, record{what: got, instance: "a", consumer: "m", deliveries: 1})
	end(d)
	e := start("k 4", 4, "b", 2)
	f, err := j.begin(delivered{data: "k 4", stored: 4, times: 1, at: stored}, "m", "a")
	if err != nil {
		t.Fatal(err)
	}
	end(e)
	end(f)
	v := j.epochs[0].check.Verdict()
	if kinds(j) != "" || j.counts().early != 2 || j.counts().explained != v.Duplicated || v.Overlapping != 0 || v.OutOfOrder != 0 {
		t.Errorf("found %q, %d early, %d duplicates explained, the checker: %s", kinds(j), j.counts().early, j.counts().explained, v)
	}
	start("k 5", 5, "a", 1)
	start("k 6", 6, "b", 1)
	if kinds(j) != "overlap" {
		t.Errorf("found %q afterwards, want the overlap", kinds(j))
	}
}

// Prevents: counting apart what no server does. This one does it; a server that
// keeps the time of a delivery needs no excuse any more, and early.go can go.
func TestServerGivesOutEarlyAfterALeaderChange(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	c, err := startCluster(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer monitorClient.CloseIdleConnections()
	defer c.close()
	g := &group{stream: "S", name: "g", static: true, members: []string{"m"}}
	j := newJudge(g, newJournal())
	j.records, j.excuses = newRecords(), true
	heard, err := followAdvisories(c, j.journal, []*group{g})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.close()
	connect := func(name string) jetstream.JetStream {
		t.Helper()
		nc, err := c.connect(name, nats.SetCustomDialer(tapDialer{j.records, name}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	a, b := connect("a"), connect("b")
	if _, err := a.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: nodes}); err != nil {
		t.Fatal(err)
	}
	name := g.consumer("m")
	if _, err := a.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: minAckWait, MaxAckPending: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Publish(ctx, "s", []byte("k 1")); err != nil {
		t.Fatal(err)
	}
	next := func(js jetstream.JetStream, most time.Duration) (m jetstream.Msg) {
		t.Helper()
		if err := await(ctx, most, func() (err error) {
			once, cancel := context.WithTimeout(ctx, 300*time.Millisecond) // between leaders nobody answers
			defer cancel()
			consumer, err := js.Consumer(once, "S", name)
			if err == nil {
				m, err = consumer.Next(jetstream.FetchMaxWait(time.Second))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if err := pause(ctx, minAckWait); err != nil { // it grows old in the stream
		t.Fatal(err)
	}
	if _, err := j.begin(next(a, patience), "m", "a"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	answer, err := a.Conn().RequestWithContext(ctx, "$JS.API.CONSUMER.LEADER.STEPDOWN.S."+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", answer.Data)
	m := next(b, patience)
	if took := time.Since(begun); took >= minAckWait {
		t.Fatalf("it came again after %s only: this server keeps the time of a delivery", took)
	}
	if err := j.records.awaitLeader(ctx, j.journal, "S", name); err != nil {
		t.Fatal(err)
	}
	if _, err := j.begin(m, "m", "b"); err != nil {
		t.Fatal(err)
	}
	if kinds(j) != "" || j.counts().early != 1 {
		t.Errorf("found %q, %d counted apart", kinds(j), j.counts().early)
		for _, l := range append(j.records.lines(j.journal, messageID{"S", 1, mustStored(t, m)}), j.journal.around(time.Time{}, time.Now(), func(entry) bool { return true })...) {
			t.Log(l)
		}
	}
}

func mustStored(t *testing.T, m jetstream.Msg) int64 {
	t.Helper()
	meta, err := m.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	return meta.Timestamp.UnixNano()
}

// awaitLeader waits for the advisory of a consumer's new leader.
func (r *records) awaitLeader(ctx context.Context, j *journal, stream, consumer string) error {
	return await(ctx, patience, func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if len(j.leaders[stream+"."+consumer]) == 0 {
			return errors.New("no leader was announced")
		}
		return nil
	})
}
