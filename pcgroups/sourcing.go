package pcgroups

import (
	"strconv"
	"strings"
	"time"
)

// This file decides whether the hop from the origin into an elastic group's
// work-queue stream works, from what looks at the server show. It asks nobody.
//
// What it is about (measured with nats-server 2.12 to 2.15): a server that becomes
// leader of the work-queue stream asks the origin for a consumer. If the origin has
// no leader at that moment nobody answers, and it asks again only after 30 s, plus
// 10 s for each time it has failed. Nothing is logged and the lag stays 0
// (server/stream.go, srcConsumerWaitTime, calculateRetryBackoff). And a leader whose
// record of its place in the origin is old, or missing, goes on from another place.

const (
	// sourceSilence is what no healthy source reaches: the origin sends a
	// heartbeat every second, in an idle stream too.
	sourceSilence = 3 * time.Second
	// leaderSettled is how long the work-queue stream must have had its leader
	// before silence counts: it connects within 0.8 s.
	leaderSettled = 2 * time.Second
	// originSettled is how long the origin must have had its leader. Nothing
	// can be sourced while it has none.
	originSettled = time.Second
	// sourceTransit is more than a message is on its way from the origin.
	sourceTransit = 500 * time.Millisecond
)

// SourceStall tells that messages wait in the origin of an elastic group and are
// not sourced into its work-queue stream, though both streams have a leader and
// there is room. The server gets over it by itself, usually some 40 s after the
// fault, seldom after two minutes. See [RestartSourcing].
type SourceStall struct {
	Since time.Time // nothing was heard from the origin since then, or longer
	Last  uint64    // the newest origin sequence known to have been sourced, 0 if none is
	Next  uint64    // the first message of the group that waits, by its origin sequence
}

// SourceSkipKind is what went wrong with the place in the origin.
type SourceSkipKind string

const (
	// SourcePlaceLost: the server's record of the last message sourced dropped
	// or disappeared. Messages may come twice, or be skipped for good.
	SourcePlaceLost SourceSkipKind = "place lost"
	// SourceMissing: messages of the group that are in the origin did not arrive
	// in the work-queue stream, and those after them did.
	SourceMissing SourceSkipKind = "missing"
	// SourceRepeated: more messages arrived than the origin has.
	SourceRepeated SourceSkipKind = "repeated"
	// SourceExpired: messages left the origin, by its limits or by a purge,
	// before they were sourced.
	SourceExpired SourceSkipKind = "expired"
)

// SourceSkip tells that messages of the origin were not sourced, or will be
// sourced again. [AuditElastic] tells more about it.
type SourceSkip struct {
	Kind SourceSkipKind
	// First and Last are the origin sequences it is about, both included. For
	// SourcePlaceLost, Last is the newest one sourced before, and First the one
	// from which the server goes on, 0 if it does not say.
	First, Last uint64
	// Messages is how many were skipped or repeated at least; 0 if it is not
	// known.
	Messages uint64
}

// sourceRecovered ends a SourceStall.
type sourceRecovered struct{ after time.Duration }

// sourceSight is what one look at a group's sourcing shows.
type sourceSight struct {
	at       time.Time
	answered bool          // the work-queue stream has a leader, and it answered
	leader   string        // its name, "" where there is no cluster
	led      time.Duration // for how long, as it says itself; 0 if it does not
	active   time.Duration // since it heard from the origin; negative: never
	lag      uint64        // as the server has it: wrong during a stall
	seq      uint64        // the origin sequence it stored last; 0: it does not say
	last     uint64        // the newest sequence of the work-queue stream itself
	full     bool          // the work-queue stream takes no further message
	created  time.Time     // when the work-queue stream was
	whole    bool          // the group takes every message of the origin

	// The rest is looked for only on suspicion.
	deep         bool
	originAlive  bool
	originLeader string
	originLed    time.Duration
	originFirst  uint64 // the oldest sequence in the origin
	originLast   uint64 // the newest
	next         uint64 // the first message of the group after the place, asked for while silent; 0: none
}

// sourceState is what has been seen so far. The zero value has seen nothing.
type sourceState struct {
	created time.Time // the work-queue stream all this is about
	whole   bool      // the group takes every message of the origin

	leader      string
	leaderSince time.Time // zero: no leader seen
	quietSince  time.Time // zero: it hears from the origin
	origin      string
	originSince time.Time

	high uint64 // the highest origin sequence ever seen sourced
	seq  uint64 // the newest one shown
	last uint64 // the work-queue stream's last sequence beside it
	// A record below base while the stream is at least as long as baseLast is a
	// lost place. It is the look before the newest one's, with the newest one's
	// length: within one look the server reads the length first.
	base, baseLast uint64

	settled      bool // pairSeq and pairLast are set
	pairSeq      uint64
	pairLast     uint64
	leaderMoved  bool      // since the pair was taken
	expiredUntil uint64    // what was told of
	expiredSeq   uint64    // the record when messages behind it were first found gone
	expiredAt    time.Time // and when that was

	stalled time.Time // when the stall that was told began; zero: none
}

// wantDeep tells whether the next look has to include the origin.
func (s *sourceState) wantDeep() bool {
	return !s.quietSince.IsZero() || !s.stalled.IsZero() || s.expiredSeq != 0
}

// see takes in a look and returns what is to be told: a SourceStall, a
// sourceRecovered, SourceSkips.
func (s *sourceState) see(o sourceSight) (news []any) {
	if !o.answered {
		// Nothing is known; start again with whoever leads next.
		s.leaderSince, s.quietSince, s.originSince = time.Time{}, time.Time{}, time.Time{}
		return nil
	}
	if !s.created.Equal(o.created) {
		*s = sourceState{created: o.created, whole: o.whole} // the group was made anew
	}
	if s.leaderSince.IsZero() || s.leader != o.leader {
		s.leaderMoved = s.leaderMoved || s.leader != o.leader
		s.leader, s.leaderSince, s.quietSince = o.leader, o.at.Add(-o.led), time.Time{}
	}
	if skip, lost := s.place(o); lost {
		news = append(news, skip)
	}
	if o.deep && o.originAlive && o.originLast < s.high {
		// The origin was made anew, and counts from one.
		s.high, s.settled, s.expiredUntil = o.seq, false, 0
	}
	if skip, expired := s.expired(o); expired {
		news = append(news, skip)
	}
	return append(news, s.silence(o)...)
}

// place follows the record of the last message sourced.
func (s *sourceState) place(o sourceSight) (SourceSkip, bool) {
	lost := s.base > 0 && o.seq < s.base && o.last >= s.baseLast
	was := s.high
	switch {
	case lost:
		s.base, s.baseLast = o.seq, o.last
		s.leaderMoved = true // the balance is looked at again
	case o.last >= s.last && o.seq >= s.seq:
		s.base, s.baseLast = s.seq, o.last
	}
	if o.last >= s.last || lost {
		s.seq, s.last = o.seq, o.last
	}
	s.high = max(s.high, o.seq)
	if !lost {
		return SourceSkip{}, false
	}
	skip := SourceSkip{Kind: SourcePlaceLost, Last: was}
	if o.seq > 0 {
		skip.First = o.seq + 1
	}
	return skip, true
}

// expired finds messages that left the origin before they were sourced. Only a
// group that takes all messages can tell: of others they need not have been. What
// is on its way is given time to arrive.
func (s *sourceState) expired(o sourceSight) (SourceSkip, bool) {
	if !s.whole || !o.deep || !o.originAlive || o.seq == 0 || o.seq < s.high || o.originFirst <= max(o.seq, s.expiredUntil)+1 {
		s.expiredSeq = 0
		return SourceSkip{}, false
	}
	if s.expiredSeq != o.seq {
		s.expiredSeq, s.expiredAt = o.seq, o.at
	}
	if o.at.Sub(s.expiredAt) < sourceTransit {
		return SourceSkip{}, false
	}
	first, last := max(o.seq, s.expiredUntil)+1, o.originFirst-1
	s.expiredUntil = last
	return SourceSkip{Kind: SourceExpired, First: first, Last: last, Messages: last - first + 1}, true
}

// silence applies the rules for a stall, of which each must hold.
func (s *sourceState) silence(o sourceSight) []any {
	if !silent(o.active) {
		s.quietSince, s.originSince = time.Time{}, time.Time{}
		return s.over(o)
	}
	if s.quietSince.IsZero() {
		s.quietSince = s.leaderSince
		if o.active >= 0 {
			s.quietSince = o.at.Add(-o.active)
		}
	}
	if !o.deep {
		return nil
	}
	if !o.originAlive {
		s.originSince = time.Time{}
		return nil
	}
	if s.originSince.IsZero() || s.origin != o.originLeader {
		s.origin, s.originSince = o.originLeader, o.at.Add(-o.originLed)
	}
	if o.next == 0 {
		return s.over(o) // nothing waits
	}
	// What it heard before it fell silent, it heard as the leader.
	settled := o.active > sourceSilence || o.at.Sub(s.leaderSince) >= leaderSettled
	if !s.stalled.IsZero() || o.full || !settled || o.at.Sub(s.originSince) < originSettled {
		return nil
	}
	s.stalled = s.quietSince
	return []any{SourceStall{Since: s.stalled, Last: s.high, Next: o.next}}
}

// silent tells whether a source that heard from the origin so long ago is suspect.
func silent(active time.Duration) bool { return active < 0 || active > sourceSilence }

func (s *sourceState) over(o sourceSight) []any {
	if s.stalled.IsZero() {
		return nil
	}
	after := o.at.Sub(s.stalled)
	s.stalled = time.Time{}
	return []any{sourceRecovered{after}}
}

// sourceHeader is the header that says where a sourced message comes from
// (nats-server JSStreamSource): stream, sequence, filter, transform, subject.
const sourceHeader = "Nats-Stream-Source"

// originSequence reads the sequence that a message had in the origin from its
// header; 0 if it is not there.
func originSequence(header string) uint64 {
	fields := strings.Split(header, " ")
	if len(fields) < 2 {
		return 0
	}
	seq, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return seq
}
