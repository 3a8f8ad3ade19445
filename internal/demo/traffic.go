package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
)

const (
	// What the demo publishes to; examples/quickstart makes its group for it.
	stream   = "ORDERS"
	subjects = "orders.*"
	subject  = "orders."

	customers = 40
	// work is how long a member is busy with an order. It decides what a member
	// can do, much more than the machine does, so that the figures tell the same
	// story everywhere.
	work = 4 * time.Millisecond
	// maxBacklog bounds the orders that wait, and so how long the end takes.
	maxBacklog = 2000
	// publishEvery is the time between two small batches.
	publishEvery = 10 * time.Millisecond
)

// order is one message. Number counts the orders of the customer.
type order struct {
	Customer string `json:"customer"`
	Number   uint64 `json:"number"`
}

func customer(i int) string { return fmt.Sprintf("customer-%02d", i) }

// publisher publishes the orders of all customers in turn, at a steady rate.
type publisher struct {
	js      jetstream.JetStream
	rate    int
	check   *checker.Checker
	handled func() int // by all members

	published atomic.Int64
	quit      context.CancelFunc
	done      chan struct{}
}

// startPublisher publishes until stopped. fail gets the error that ended it
// before.
func startPublisher(ctx context.Context, js jetstream.JetStream, rate int, check *checker.Checker, handled func() int, fail func(error)) *publisher {
	p := &publisher{js: js, rate: rate, check: check, handled: handled, done: make(chan struct{})}
	quitting, quit := context.WithCancel(ctx)
	p.quit = quit
	go func() {
		defer close(p.done)
		if err := p.run(ctx, quitting.Done()); err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("publishing orders: %w", err))
		}
	}()
	return p
}

// stop ends publishing between two orders and returns when it has ended, so that
// the number of orders is final. It may be called twice.
func (p *publisher) stop() {
	p.quit()
	<-p.done
}

func (p *publisher) count() int { return int(p.published.Load()) }

// waiting is how many orders were published and not handled yet. One that was
// handled before its publication was confirmed does not make it less than none.
func (p *publisher) waiting() int { return max(0, p.count()-p.handled()) }

// run takes two things to end it: quit does so between orders, ctx at once, when
// nobody asks any more whether the last one arrived.
func (p *publisher) run(ctx context.Context, quit <-chan struct{}) error {
	tick := time.NewTicker(publishEvery)
	defer tick.Stop()
	numbers := make([]uint64, customers)
	began, due := time.Now(), 0
	for i := 0; ; {
		select {
		case <-quit:
			return nil
		case <-tick.C:
		}
		for ; due < int(time.Since(began).Seconds()*float64(p.rate)); due++ {
			if p.waiting() >= maxBacklog {
				began, due = time.Now(), 0 // what is held back is not made up for
				break
			}
			c := i % customers
			numbers[c]++
			if err := p.publish(ctx, order{customer(c), numbers[c]}); err != nil {
				return err
			}
			i++
			select {
			case <-quit:
				return nil
			default:
			}
		}
	}
}

func (p *publisher) publish(ctx context.Context, o order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := p.js.Publish(ctx, subject+o.Customer, data); err != nil {
		return err
	}
	p.check.Published(o.Customer, o.Number)
	p.published.Add(1)
	return nil
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until asks again and again, every now and then, until the answer is yes.
func until(ctx context.Context, problem string, ask func(context.Context) (bool, error)) error {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		yes, err := ask(bounded)
		if yes && err == nil {
			return nil
		}
		if pause(bounded, 200*time.Millisecond) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.Join(fmt.Errorf("%s after %s", problem, patience), err)
		}
	}
}
