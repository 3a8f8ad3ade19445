package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// seat is where an instance runs: there are always as many as there are seats.
type seat struct {
	group  *group
	member string
	oracle bool
	n      int
}

func (s seat) String() string {
	by := ""
	if s.oracle {
		by = "oracle"
	}
	return fmt.Sprintf("%s/%s/%s%d", s.group, s.member, by, s.n)
}

// fleet is all instances. It is used by one goroutine.
type fleet struct {
	cluster *cluster
	seats   []seat
	at      []*instance // by seat
	serial  int
}

func (f *fleet) open(ctx context.Context, groups []*group) error {
	for _, g := range groups {
		for _, m := range g.members {
			for n := range g.instances {
				f.seats = append(f.seats, seat{g, m, false, n})
			}
		}
		for _, m := range g.oracles {
			f.seats = append(f.seats, seat{g, m, true, 0})
		}
	}
	for _, s := range f.seats {
		i, err := f.join(ctx, s, ackWaits[0])
		if err != nil {
			return err
		}
		f.at = append(f.at, i)
	}
	return nil
}

func (f *fleet) close(ctx context.Context) error {
	errs := make([]error, len(f.at))
	var wg sync.WaitGroup
	for n, i := range f.at {
		wg.Go(func() { errs[n] = i.leave(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ackWaits are what instances are run with; the shortest is minAckWait.
var ackWaits = []time.Duration{5 * time.Second, minAckWait, 6 * time.Second}

// pick chooses a seat by a number, among those that suit.
func (f *fleet) pick(n uint64, suits func(seat) bool) int {
	var at []int
	for i, s := range f.seats {
		if suits(s) {
			at = append(at, i)
		}
	}
	return at[n%uint64(len(at))]
}

// mend puts an instance where a session has ended by itself.
func (f *fleet) mend(ctx context.Context) error {
	for n, i := range f.at {
		if i.running() {
			continue
		}
		i.leaving.Store(true)
		i.conn.Close()
		i.link.close()
		again, err := f.join(ctx, f.seats[n], i.ackWait)
		if err != nil {
			return err
		}
		f.at[n] = again
	}
	return nil
}

// of are the instances of a group.
func (f *fleet) of(g *group) []*instance {
	return slices.DeleteFunc(slices.Clone(f.at), func(i *instance) bool { return i.group != g })
}

// join runs an instance.
func (f *fleet) join(ctx context.Context, s seat, ackWait time.Duration) (*instance, error) {
	f.serial++
	i := &instance{group: s.group, member: s.member, oracle: s.oracle, ackWait: ackWait,
		name: fmt.Sprintf("%s#%d", s, f.serial), dead: make(chan struct{}), left: make(chan struct{})}
	var err error
	if i.link, err = newLink(f.cluster); err != nil {
		return nil, err
	}
	// It may meet an election: a program would be started again, too.
	err = await(ctx, patience, func() error {
		if i.conn, err = i.link.dial(i.name, s.group.judge.records); err != nil {
			return err
		}
		js, err := jetstream.New(i.conn)
		if err == nil {
			once, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if s.oracle {
				once = ctx
			}
			i.session, err = s.group.consume(once, js, s.member, s.oracle, ackWait, i.handle, i.events())
		}
		if err != nil {
			i.conn.Close()
		}
		return err
	})
	if err != nil {
		i.link.close()
		return nil, fmt.Errorf("%s can not join: %w", i.name, err)
	}
	go i.watch()
	return i, nil
}
