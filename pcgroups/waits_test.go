package pcgroups_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// logLines are what a session logs.
type logLines struct{ natstest.Recorder[string] }

func (l *logLines) Write(line []byte) (int, error) {
	l.Add(string(line))
	return len(line), nil
}

func (l *logLines) option() pcgroups.ConsumeOption {
	return pcgroups.WithLogger(slog.New(slog.NewTextHandler(l, nil)))
}

// said waits until the log has the message n times.
func (l *logLines) said(t *testing.T, message string, n int) {
	t.Helper()
	l.Wait(t, patience, func(lines []string) bool { return count(lines, message) >= n })
}

func count(lines []string, message string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, `level=INFO msg="consumer group member `+message+`"`) {
			n++
		}
	}
	return n
}

// Prevents: a member that waits without a word, so that nobody finds out that its
// name is misspelt, and one that says so for ever.
func TestWaitingIsLogged(t *testing.T) {
	t.Parallel()
	const noGroup, stranger, idle = "waits: the group does not exist", "waits: it is not in the group", "waits: the group has no partition for it"
	f := newFixture(t)
	f.stream("ORDERS", 0)
	var log logLines
	s := f.member("m2", 0, strict(2*time.Second), pcgroups.WithRejoin(), log.option())
	log.said(t, noGroup, 1)
	natstest.Eventually(t, patience, func() error { // it tries again, and finds none again
		if s.Status().Recovered < 3 {
			return errors.New("it has not tried again")
		}
		return nil
	})
	create := func(members ...string) {
		t.Helper()
		_, err := pcgroups.CreateElastic(f.ctx(), f.js, "ORDERS", "workers", 1, nil, -1, -1, pcgroups.WithMembers(members...))
		must(t, err)
	}
	create("m3")
	log.said(t, stranger, 1)
	add := func(member string) {
		t.Helper()
		_, err := pcgroups.AddMembers(f.ctx(), f.js, "ORDERS", "workers", []string{member})
		must(t, err)
	}
	add("m2")
	log.said(t, "partitions assigned", 1)
	add("m1")
	log.said(t, idle, 1)
	_, err := pcgroups.DeleteMembers(f.ctx(), f.js, "ORDERS", "workers", []string{"m2"})
	must(t, err)
	log.said(t, stranger, 2)
	must(t, pcgroups.DeleteElastic(f.ctx(), f.js, "ORDERS", "workers"))
	log.said(t, noGroup, 2)
	s.Stop()
	must(t, waitDone(t, s))
	var waits []string
	for _, line := range log.All() {
		if _, what, found := strings.Cut(line, "member waits: "); found {
			waits = append(waits, "waits: "+what[:strings.Index(what, `"`)])
		}
	}
	if want := []string{noGroup, stranger, idle, stranger, noGroup}; !slices.Equal(waits, want) {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(waits, "\n"), strings.Join(want, "\n"))
	}
}
