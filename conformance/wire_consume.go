package conformance

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const session = "s1"

func joinRequest(flavour, member string, ackWait time.Duration) Request {
	return Request{Op: OpConsume, Flavour: flavour, Stream: stream, Group: group, Member: member,
		Session: session, AckWait: ackWait, MaxAckPending: 1}
}

// some are subjects that fall into all partitions of the groups below.
var some = []string{"orders.1", "orders.2", "orders.3", "orders.4"}

// memberOn is the consumer that member m1 of the group has, and its stream.
func memberOn(flavour string) (on, consumer string) {
	if flavour == Static {
		return stream, group + "-m1"
	}
	return workQueue, "m1"
}

func consumerCreate(flavour string) func(entry) bool {
	on, consumer := memberOn(flavour)
	return wrote("$JS.API.CONSUMER.CREATE." + on + "." + consumer)
}

// join joins and waits for the first pull; deliver has messages handled.
func (s *stage) join(r Request) {
	s.do("join", r)
	s.await(pulled(false))
}

func (s *stage) deliver(flavour string, subjects ...string) {
	s.begin("deliver")
	s.publish(subjects...)
	s.handled(len(subjects))
	s.quiet(memberOn(flavour))
	s.end()
}

func (s *stage) leave() {
	s.do("stop", Request{Op: OpStop, Session: session})
	s.ended()
}

// stay is a member that joins, handles messages, pulls again with its pin and
// leaves.
func stay(name string, create Request, membership string, join Request, renew bool, needs ...string) Case {
	return Case{Name: "wire/" + join.Flavour + "/session/" + name, Needs: append(needs, join.Flavour), wire: func(s *stage) {
		s.existing(create, membership)
		s.join(join)
		s.deliver(join.Flavour, some...)
		if renew {
			s.begin("renew")
			s.await(pulled(true))
		}
		s.leave()
	}}
}

// refusedConsumer is a member whose consumer the reference can not create.
func refusedConsumer(flavour string, create Request, membership string) Case {
	return Case{Name: "wire/" + flavour + "/session/join/mappings-many-filters", Needs: []string{flavour, FeatureMappings, FeatureManyFilters}, wire: func(s *stage) {
		s.existing(create, membership)
		s.do("join", joinRequest(flavour, "m1", 2*time.Second))
		s.await(consumerCreate(flavour))
	}}
}

var waits = []struct {
	name  string
	wait  time.Duration
	renew bool
}{
	{"stay/ackwait-default", 0, false},
	{"stay-fast/ackwait-500ms", 500 * time.Millisecond, true}, // so fast that the pin may move
	{"stay/ackwait-2s", 2 * time.Second, true},
	{"stay/ackwait-30s", 30 * time.Second, false},
}

// consumeCases cover every stage of consuming.
func consumeCases() []Case {
	two := elasticRequest(2, oneFilter, -1, -1)
	static := staticRequest(2, nil, []string{"m1"}, nil)
	j := func(flavour string) Request { return joinRequest(flavour, "m1", 2*time.Second) }
	owner := []MemberMapping{{Member: "m1", Partitions: []int{1, 0}}}
	var cases []Case
	for _, w := range waits {
		cases = append(cases, stay(w.name, two, members("m1"), joinRequest(Elastic, "m1", w.wait), w.renew),
			stay(w.name, static, "", joinRequest(Static, "m1", w.wait), w.renew))
	}
	unbounded := j(Elastic)
	unbounded.MaxAckPending = 0
	whole := stay("stay/whole-subject", elasticRequest(2, nil, -1, -1), members("m1"), j(Elastic), false, FeatureWholeSubject)
	whole.WholeSubject = true
	cases = append(cases,
		stay("stay/ack-pending-default", two, members("m1"), unbounded, false),
		stay("stay/filters-many", elasticRequest(2, manyFilters, -1, -1), members("m1"), j(Elastic), false, FeatureManyFilters),
		whole,
		stay("stay/mappings", two, mappings(owner), j(Elastic), false, FeatureMappings),
		stay("stay/filter-one", staticRequest(2, []string{"orders.*"}, []string{"m1"}, nil), "", j(Static), false),
		stay("stay/filters-many", staticRequest(2, []string{"returns.*", "orders.*"}, []string{"m1"}, nil), "", j(Static), false, FeatureManyFilters),
		stay("stay/mappings", staticRequest(2, nil, nil, owner), "", j(Static), false, FeatureMappings),
		refusedConsumer(Elastic, elasticRequest(2, manyFilters, -1, -1), mappings(owner)),
		refusedConsumer(Static, staticRequest(2, []string{"returns.*", "orders.*"}, nil, owner), ""),
	)
	for _, policy := range []string{"explicit", "all", "none"} {
		r := j(Static)
		r.AckPolicy, r.MaxAckPending = policy, 0
		cases = append(cases, stay("stay/ack-"+policy, static, "", r, false, FeatureAckPolicies))
	}
	return append(cases, membershipCases()...)
}

// membershipCases change the group under a member.
func membershipCases() []Case {
	two := elasticRequest(2, oneFilter, -1, -1)
	static := staticRequest(2, nil, []string{"m1"}, nil)
	config := func(membership string, n int) string {
		return fmt.Sprintf(`{"max_members":%d,"partitioning_filters":%s,"max_buffered_msg":-1,"max_buffered_bytes":-1%s}`, n, mustJSON(oneFilter), membership)
	}
	member := func(flavour, name string, create Request, membership string, wait time.Duration, then func(*stage)) Case {
		subjects := some
		if membership == members("m1", "m2") {
			subjects = some[:1] // of partition 0, which is m1's
		}
		return Case{Name: "wire/" + flavour + "/session/" + name, Needs: []string{flavour}, wire: func(s *stage) {
			s.existing(create, membership)
			s.join(joinRequest(flavour, "m1", wait))
			s.deliver(flavour, subjects...)
			then(s)
		}}
	}
	changed := func(name, value string, until func(*stage)) func(*stage) {
		return func(s *stage) {
			s.begin(name)
			s.put(elasticBucket, value)
			until(s)
		}
	}
	replaced := func(s *stage) {
		s.await(consumerCreate(Elastic))
		s.await(pulled(false))
	}
	gone := func(bucket string, remove func(jetstream.KeyValue, *stage) error) func(*stage) {
		return func(s *stage) {
			s.begin("gone")
			if s.err == nil {
				kv, err := s.js.KeyValue(s.ctx, bucket)
				if err == nil {
					err = remove(kv, s)
				}
				s.harness(err)
			}
			s.ended()
		}
	}
	deleted := func(kv jetstream.KeyValue, s *stage) error { return kv.Delete(s.ctx, stream+"."+group) }
	return []Case{
		member(Elastic, "handover/lose", two, members("m1"), 2*time.Second, changed("lose", config(","+members("m1", "m2"), 2), replaced)),
		member(Elastic, "handover/gain", two, members("m1", "m2"), 2*time.Second, changed("gain", config(","+members("m1"), 2), replaced)),
		member(Elastic, "handover/dropped", two, members("m1"), 2*time.Second, changed("dropped", config(","+members("m2"), 2), func(s *stage) {
			s.await(wrote("$JS.API.CONSUMER.DELETE." + workQueue + ".m1"))
		})),
		member(Elastic, "handover/same-again", two, members("m1"), 2*time.Second, func(s *stage) {
			s.begin("unchanged")
			s.put(elasticBucket, config(","+members("m1"), 2))
			s.end()
		}),
		{Name: "wire/elastic/session/stay/waits-to-be-added", Needs: []string{Elastic}, wire: func(s *stage) {
			s.existing(two, members("m2"))
			s.do("join", joinRequest(Elastic, "m1", 2*time.Second))
			s.begin("added")
			s.put(elasticBucket, config(","+members("m1"), 2))
			replaced(s)
			s.deliver(Elastic, some...)
			s.leave()
		}},
		{Name: "wire/elastic/session/join/beyond-partitions", Needs: []string{Elastic}, wire: func(s *stage) {
			s.existing(two, members("a1", "a2", "m1"))
			s.do("join", joinRequest(Elastic, "m1", 2*time.Second))
			s.leave()
		}},
		{Name: "wire/static/session/join/not-a-member", Needs: []string{Static}, wire: func(s *stage) {
			s.existing(static, "")
			s.do("join", joinRequest(Static, "m9", 2*time.Second))
		}},
		{Name: "wire/elastic/refused/ack-none", Needs: []string{Elastic}, wire: func(s *stage) {
			s.existing(two, members("m1"))
			r := joinRequest(Elastic, "m1", 2*time.Second)
			r.AckPolicy = "none"
			s.do("join", r)
		}},
		member(Elastic, "end/deleted", two, members("m1"), 2*time.Second, gone(elasticBucket, deleted)),
		member(Static, "end/deleted", static, "", 2*time.Second, gone(staticBucket, deleted)),
		member(Elastic, "end/changed", two, members("m1"), 2*time.Second, gone(elasticBucket, func(kv jetstream.KeyValue, s *stage) error {
			_, err := kv.Put(s.ctx, stream+"."+group, []byte(config(","+members("m1"), 3)))
			return err
		})),
		member(Static, "end/changed", static, "", 2*time.Second, gone(staticBucket, func(kv jetstream.KeyValue, s *stage) error {
			_, err := kv.Put(s.ctx, stream+"."+group, []byte(`{"max_members":3,"members":["m1"]}`))
			return err
		})),
		member(Elastic, "step-down", two, members("m1"), 2*time.Second, func(s *stage) {
			s.do(OpStepDown, Request{Op: OpStepDown, Flavour: Elastic, Stream: stream, Group: group, Member: "m1"})
		}),
		member(Static, "step-down", static, "", 2*time.Second, func(s *stage) {
			s.do(OpStepDown, Request{Op: OpStepDown, Flavour: Static, Stream: stream, Group: group, Member: "m1"})
		}),
	}
}

// wireCases are all of them.
func wireCases() []Case {
	out := createCases()
	out = append(out, adminCases()...)
	return append(out, consumeCases()...)
}
