package conformance

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A server before 2.14.6 may turn deaf to the acknowledgements of a message that it
// could not deliver for the first time, as its client had just gone (nats-server
// #8511). At one message in flight the member then stands still for good, whatever
// implementation it is that acknowledges. This repository's gets over it, so it is
// held to that; others can not be blamed for it.

// answerPatience is how long a server may take to answer an acknowledgement. It
// answers every one that it takes, even of a message that was acknowledged before.
const answerPatience = 2 * time.Second

// excuse ends a case that can not go on because its server is deaf to somebody who
// need not get over that. It is shown by the server at hand, not by its version.
func (p *play) excuse() bool {
	on, _ := memberOn(p.flavour)
	s, err := p.js.Stream(p.ctx, on)
	if err != nil {
		return false
	}
	list := s.ListConsumers(p.ctx)
	for i := range list.Info() {
		if by := p.deaf(s, i); by != nil && by.impl != Ours().ID() {
			p.harness(fmt.Errorf("%w: the server does not take the acknowledgements of a message that %s (%s) has handled, as one before 2.14.6 does now and then (nats-server #8511)",
				ErrUnsupported, by.name, by.impl))
			return true
		}
	}
	return false
}

// deaf returns who handled the one message that a consumer has in flight, if the
// server leaves an acknowledgement of it without an answer.
func (p *play) deaf(s jetstream.Stream, i *jetstream.ConsumerInfo) *actor {
	seq := i.Delivered.Stream
	if i.NumAckPending != 1 || i.AckFloor.Stream >= seq {
		return nil
	}
	m, err := s.GetMsg(p.ctx, seq)
	if err != nil {
		return nil
	}
	by := p.handledBy(string(m.Data))
	if by == nil {
		return nil
	}
	ack := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.%d.%d.0", i.Stream, i.Name, seq, i.Delivered.Consumer, m.Time.UnixNano())
	if _, err := p.nc.Request(ack, []byte("+ACK"), answerPatience); err == nil {
		return nil
	}
	// It was asked before it answers this, on the same connection.
	c, err := s.Consumer(p.ctx, i.Name)
	if err != nil || c.CachedInfo().NumAckPending != 1 || c.CachedInfo().AckFloor.Stream >= seq {
		return nil
	}
	return by
}

// handledBy is who has handled a message last.
func (p *play) handledBy(data string) *actor {
	var by *actor
	for _, d := range p.deliveries() {
		if d.done && d.key+":"+strconv.Itoa(d.seq) == data {
			by = d.by
		}
	}
	return by
}
