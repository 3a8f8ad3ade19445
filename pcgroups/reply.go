package pcgroups

import (
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// replyInfo takes from a message's reply subject how often the server has
// delivered it, and its sequence in the stream. The client's Metadata tells the
// same, and more, for four allocations a message. Both are 0 if that can not be
// told.
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.…                        (9 tokens)
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.<sequence>.…     (11 or more)
func replyInfo(reply string) (deliveries, seq uint64) {
	at := replyCounts(reply)
	if at < 0 {
		return 0, 0
	}
	c := readCounts(reply, at)
	return c.deliveries, c.seq
}

// counts are the numbers in a reply subject.
type counts struct {
	deliveries, seq uint64
	order           uint64 // of the delivery, among all of the consumer
}

// replyReader is replyInfo for the messages of one consumer, whose reply subjects
// begin alike.
type replyReader struct{ prefix string }

func (p *replyReader) read(reply string) counts {
	if p.prefix != "" && strings.HasPrefix(reply, p.prefix) {
		if c := readCounts(reply, len(p.prefix)); c.seq != 0 {
			return c
		}
	}
	at := replyCounts(reply)
	if at < 0 {
		return counts{}
	}
	p.prefix = strings.Clone(reply[:at])
	return readCounts(reply, at)
}

// readCounts reads the numbers that begin at a position.
func readCounts(reply string, at int) (c counts) {
	c.deliveries, at = number(reply, at)
	c.seq, at = number(reply, at)
	c.order, _ = number(reply, at)
	return c
}

// replyCounts is where in a reply subject the number of deliveries stands, or -1.
func replyCounts(reply string) int {
	dots, at4, at6 := 0, -1, -1
	for i := range len(reply) {
		if reply[i] != '.' {
			continue
		}
		dots++
		switch dots {
		case 4:
			at4 = i + 1
		case 6:
			at6 = i + 1
		}
	}
	switch {
	case dots == 8:
		return at4
	case dots > 9:
		return at6
	}
	return -1
}

// storedAt takes from it when the message was stored in the stream, in Unix
// nanoseconds; 0 if that can not be told.
func storedAt(reply string) int64 {
	at := 7 // the token it is in
	if strings.Count(reply, ".") > 9 {
		at = 9
	}
	for range at {
		_, reply, _ = strings.Cut(reply, ".")
	}
	n, _ := number(reply, 0)
	return int64(n)
}

// number reads the decimal token that begins at a position, and tells where the
// next one begins.
func number(s string, at int) (n uint64, next int) {
	for at < len(s) && s[at] != '.' {
		d := s[at] - '0'
		if d > 9 {
			return 0, len(s)
		}
		n = n*10 + uint64(d)
		at++
	}
	return n, at + 1
}

// deliveries is how often the server has delivered a message; 0 if that can not
// be told.
func deliveries(msg jetstream.Msg) uint64 {
	n, _ := replyInfo(msg.Reply())
	return n
}

// lastDelivery tells whether nobody will get this message after us, so that it
// must not be given back unhandled.
func (r *runner) lastDelivery(deliveries uint64) bool {
	return r.config.MaxDeliver > 0 && deliveries >= uint64(r.config.MaxDeliver)
}

// ackWaitOf is how long the server waits for the n-th delivery of a message.
func (r *runner) ackWaitOf(n uint64) time.Duration {
	steps := r.config.BackOff
	if len(steps) == 0 {
		return r.config.AckWait
	}
	return steps[min(max(n, 1), uint64(len(steps)))-1]
}
