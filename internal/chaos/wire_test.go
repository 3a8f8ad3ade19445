package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Prevents: a tap that loses its place in the protocol, at whatever byte a read
// ends, and with it an acknowledgement or a Nak.
func TestWireReadsAlong(t *testing.T) {
	const ack = "$JS.ACK.S.m.2.7.9.1700000000000000000.3"
	stream := "INFO {\"a\":1}\r\nPING\r\n+OK\r\nSUB _INBOX.x 4\r\n" +
		"MSG s.1 4 " + ack + " 5\r\nab\r\nc\r\n" +
		"HMSG s.1 4 " + ack + " 12 15\r\nNATS/1.0\r\n\r\nxyz\r\n" +
		"PUB " + ack + " 4\r\n-NAK\r\nPUB s _R_.1 0\r\n\r\n" +
		"HPUB " + ack + " 12 16\r\nNATS/1.0\r\n\r\n+WPI\r\n-ERR 'x y z'\r\nPUB last 2\r\nok\r\n"
	want := strings.Join([]string{
		"s.1 " + ack + " ab\r\nc", "s.1 " + ack + " xyz", ack + "  -NAK", "s _R_.1 ", ack + "  +WPI", "last  ok",
	}, "|")
	for size := 1; size <= len(stream); size++ {
		var seen []string
		w := wire{frame: func(f frame) { seen = append(seen, fmt.Sprintf("%s %s %s", f.subject, f.reply, f.body)) }}
		for rest := stream; rest != ""; {
			n := min(size, len(rest))
			w.feed([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got := strings.Join(seen, "|"); got != want {
			t.Fatalf("in pieces of %d:\n got %q\nwant %q", size, got, want)
		}
	}
}

// Prevents: messages that are mixed up, as their reply subjects are misread.
func TestAckSubjectsAreTakenApart(t *testing.T) {
	want := messageID{"S", 7, 1700}
	for _, s := range []string{"$JS.ACK.S.m.2.7.9.1700.3", "$JS.ACK._.hash.S.m.2.7.9.1700.3", "$JS.ACK._.hash.S.m.2.7.9.1700.3.token"} {
		if id, consumer, n, ok := ackSubject(s); !ok || id != want || consumer != "m" || n != 2 {
			t.Errorf("%s: %+v %s %d %t", s, id, consumer, n, ok)
		}
	}
	for _, s := range []string{"", "$JS.ACK.S.m.2.7.9.1700", "$JS.ACK.S.m.x.7.9.1700.3", "$JS.API.CONSUMER.INFO.S.m.a.b.c.d"} {
		if _, _, _, ok := ackSubject(s); ok {
			t.Errorf("%q is taken for an acknowledgement's subject", s)
		}
	}
}

// Prevents: records that grow with the length of a run, or that forget what a
// timeline is to show.
func TestRecordsForget(t *testing.T) {
	r := newRecords()
	past := func(id messageID) {
		r.add(id, record{what: got})
		r.heard[len(r.heard)-1].at = time.Now().Add(-2 * remembered)
		r.of[id][len(r.of[id])-1].at = time.Now().Add(-2 * remembered)
	}
	for seq := range uint64(1000) {
		past(messageID{"S", seq, 0})
		if seq == 10 {
			r.keep(messageID{"S", 10, 0})
		}
	}
	r.add(messageID{"S", 2000, 0}, record{what: got})
	if len(r.of) > 3 || len(r.heard) > 1500 {
		t.Errorf("%d messages and %d records are remembered", len(r.of), len(r.heard)-r.first)
	}
	if len(r.about(messageID{"S", 10, 0})) != 1 {
		t.Error("what was to be kept was forgotten")
	}
	id := messageID{"S", 3000, 0}
	for range mostOfOne + 5 {
		r.add(id, record{what: moreTime})
	}
	if r.missing() != 5 {
		t.Errorf("%d records are missing, want 5", r.missing())
	}
}
