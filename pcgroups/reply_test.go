package pcgroups

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// replyTwin reads the same as replyInfo from a message's metadata as the client
// does: by splitting the subject.
func replyTwin(reply string) (deliveries, seq uint64) {
	tokens := strings.Split(reply, ".")
	switch n := len(tokens); {
	case n == 9:
		tokens = tokens[4:6]
	case n >= 11:
		tokens = tokens[6:8]
	default:
		return 0, 0
	}
	for _, token := range tokens {
		if strings.Trim(token, "0123456789") != "" {
			return 0, 0
		}
	}
	read := func(token string) (n uint64) {
		for _, d := range []byte(token) {
			n = n*10 + uint64(d-'0')
		}
		return n
	}
	return read(tokens[0]), read(tokens[1])
}

// FuzzReplyInfo compares what is taken from a reply subject with an independent
// reading of it, and with the client's where that takes it for a message's.
//
// Prevents: a sequence or delivery count that is another token's, by which an
// unhandled message would be acknowledged or given up; and a crash by a subject
// somebody else made.
func FuzzReplyInfo(f *testing.F) {
	for _, reply := range []string{
		"$JS.ACK.ORDERS-workers.m1.3.17.9.1700000000000000000.5",
		"$JS.ACK._.ABCDEFGH.ORDERS-workers.m1.3.17.9.1700000000000000000.5",
		"$JS.ACK.hub.ABCDEFGH.ORDERS-workers.m1.3.17.9.1700000000000000000.5.x8Yz",
		"$JS.ACK.hub.ABCDEFGH.ORDERS-workers.m1.3.17.9.1700000000000000000.5.x8Yz.more.of.it",
		"$JS.ACK.S.C.1.18446744073709551615.9.0.0",
		"$JS.ACK.S.C.1.18446744073709551616.9.0.0",
		"$JS.ACK.S.C.-1.x.9.0.0", "$JS.ACK.S.C.1.x.9.0.0", "$JS.ACK.S.C.x.1.9.0.0",
		"$JS.ACK.S.C...9.0.0", "........", "..........", "...........", "", ".",
		"$JS.ACK.hub.ABCDEFGH.S.C.1.2.3.4", // 10 tokens
		"_INBOX.abc.1", "$JS.ACK.S.C.١.٢.3.4.5",
	} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		var again replyReader
		deliveries, seq := replyInfo(reply)
		for range 2 { // by the prefix the second time
			if c := again.read(reply); c.deliveries != deliveries || c.seq != seq {
				t.Fatalf("%q: the reader says %v, at once it was %d, %d", reply, c, deliveries, seq)
			}
		}
		wantDeliveries, wantSeq := replyTwin(reply)
		if seq == 0 || wantSeq == 0 {
			// Sequences begin with 1; without one the rest is not looked at.
			if seq != wantSeq {
				t.Fatalf("%q: sequence %d, want %d", reply, seq, wantSeq)
			}
			return
		}
		if deliveries != wantDeliveries || seq != wantSeq {
			t.Fatalf("%q: %d, %d, want %d, %d", reply, deliveries, seq, wantDeliveries, wantSeq)
		}
		meta, err := clientMetadata(reply)
		if err != nil {
			return // for the client it is not a message of a consumer
		}
		if meta.NumDelivered != deliveries || meta.Sequence.Stream != seq {
			t.Fatalf("%q: %d, %d, the client says %d, %d", reply, deliveries, seq, meta.NumDelivered, meta.Sequence.Stream)
		}
	})
}

// clientMetadata is what the client reads from a reply subject. Its older API
// shares the parser with the newer, of which no message can be made without a
// server.
func clientMetadata(reply string) (*nats.MsgMetadata, error) {
	if reply == "" {
		return nil, jetstream.ErrNotJSMessage
	}
	m := &nats.Msg{Reply: reply, Sub: new(nats.Subscription)}
	meta, err := m.Metadata()
	if err == nil && meta == nil {
		return nil, errors.New("no metadata")
	}
	return meta, err
}

// Prevents: reading a reply subject costing allocations for every message.
func TestReplyInfoAllocatesNothing(t *testing.T) {
	const reply = "$JS.ACK.hub.ABCDEFGH.ORDERS-workers.m1.3.17.9.1700000000000000000.5.x8Yz"
	var seq uint64
	if n := testing.AllocsPerRun(100, func() { _, seq = replyInfo(reply) }); n != 0 || seq != 17 {
		t.Fatalf("%v allocations, sequence %d", n, seq)
	}
	var r replyReader
	if n := testing.AllocsPerRun(100, func() { seq = r.read(reply).order }); n != 0 || seq != 9 {
		t.Fatalf("%v allocations by a reader, the delivery %d", n, seq)
	}
}
