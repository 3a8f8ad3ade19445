package pcgroups

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"
)

// FuzzNames gives any names to the checks before a group is written or joined.
// What they let through must be what it says in every name that is composed of it:
// one token of a key, a stream's and a consumer's name.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"ORDERS", "a-b", "a=b", "", ".", "a.b", "*", ">", " ", "a/b", `a\b`, "ü", "\xff", "\x00", "\u2028", strings.Repeat("a", 128)} {
		f.Add(name, "workers", "m1")
		f.Add("ORDERS", name, "m1")
		f.Add("ORDERS", "workers", name)
	}
	f.Fuzz(func(t *testing.T, stream, group, member string) {
		for _, fl := range []*flavour{staticFlavour, elasticFlavour} {
			err := checkNames(fl, stream, group)
			if err == nil {
				err = checkMember(fl, group, member)
			}
			if err != nil {
				var bad *ConfigError
				if !errors.As(err, &bad) || bad.Field == "" || bad.Reason == "" || !utf8.ValidString(bad.Reason) {
					t.Fatalf("%q %q %q: %v", stream, group, member, err)
				}
				continue
			}
			key := ComposeKey(stream, group)
			if !validKey(key) || strings.Count(key, ".") != 1 {
				t.Fatalf("%q is no key of one group", key)
			}
			for _, name := range []string{fl.groupStream(stream, group), fl.consumerName(group, member)} {
				if name == "" || len(name) > maxNameLen || strings.ContainsAny(name, ".*>/\\ \t\r\n\x00") {
					t.Fatalf("%q can not be a name", name)
				}
			}
		}
	})
}

// FuzzNewGroup gives anything to the checks before a group is created. They must
// not panic, and what they let through must come back the same from the bucket,
// with every partition in the hands of at most one member.
func FuzzNewGroup(f *testing.F) {
	f.Add(uint(4), "orders.*", 1, "m1", "m2", int64(-1), false)
	f.Add(uint(0), "", 0, "", "", int64(-2), true)
	f.Add(^uint(0), "a.*.>", 2, "m1", "m1", int64(1)<<62, true)
	f.Add(uint(1)<<31-1, "{{Partition(1,2)}}.*", -1, "m", "n", int64(0), false)
	f.Add(uint(31), "\xff.*", 0, "0", "0", int64(0), false) // JSON has no such text: it came back as another
	f.Add(uint(2), "$1.*", 1, "\xff", "é", int64(0), true)
	f.Fuzz(func(t *testing.T, n uint, filter string, wildcard int, a, b string, limit int64, mapped bool) {
		members, mappings := []string{a, b}, []MemberMapping(nil)
		if mapped {
			members, mappings = nil, []MemberMapping{{Member: a, Partitions: []int{0, wildcard}}, {Member: b}}
		}
		elastic := &ElasticConsumerGroupConfig{
			MaxMembers: n, PartitioningFilters: []PartitioningFilter{{Filter: filter, PartitioningWildcards: []int{wildcard}}},
			MaxBufferedMsgs: limit, MaxBufferedBytes: limit, Members: members, MemberMappings: mappings,
		}
		static := &StaticConsumerGroupConfig{MaxMembers: n, Filters: []string{filter}, Members: members, MemberMappings: mappings}
		if err := elastic.ValidateNew("ORDERS", "workers"); checkNew(t, err) {
			back, err := decodeElastic(marshal(elastic))
			if err != nil || !sameElasticShape(back, elastic) {
				t.Fatalf("%s came back as %+v, %v", marshal(elastic), back, err)
			}
			checkOwners(t, n, members, mappings)
			_ = deriveGroupStream("ORDERS", "workers", elastic, jetstream.StreamConfig{Name: "ORDERS"})
		}
		if err := static.ValidateNew("ORDERS", "workers"); checkNew(t, err) {
			back, err := decodeStatic(marshal(static))
			if err != nil || !sameStatic(back, static) {
				t.Fatalf("%s came back as %+v, %v", marshal(static), back, err)
			}
			checkOwners(t, n, members, mappings)
		}
	})
}

// checkNew tells whether a configuration was accepted; a refusal names the field.
func checkNew(t *testing.T, err error) bool {
	t.Helper()
	var bad *ConfigError
	if err != nil && (!errors.As(err, &bad) || bad.Field == "" || bad.Reason == "") {
		t.Fatalf("refused without a reason: %v", err)
	}
	return err == nil
}

func checkOwners(t *testing.T, n uint, members []string, mappings []MemberMapping) {
	t.Helper()
	if n > 1<<16 {
		return // it would be right and slow
	}
	owner := make([]string, n)
	for m, parts := range Assignments(n, members, mappings) {
		for _, p := range parts {
			if owner[p] != "" {
				t.Fatalf("partition %d belongs to %q and %q", p, owner[p], m)
			}
			owner[p] = m
		}
	}
	if slices.Contains(owner, "") && len(sortedSet(members)) > 0 {
		t.Fatalf("a partition of %d belongs to none of %q", n, members)
	}
}

// FuzzView gives a session any value of the bucket, for a member that may be in
// it. It must not panic, nor take more than what a consumer can have.
func FuzzView(f *testing.F) {
	f.Add([]byte(`{"max_members":18446744073709551615,"members":["m1"]}`), "m1")
	f.Add([]byte(`{"max_members":9223372036854775808,"members":["m1","m2","m3"]}`), "m3")
	f.Add([]byte(`{"max_members":2,"members":["m1"],"filters":["",".",">.>"]}`), "m1")
	f.Add([]byte(`{"max_members":2,"member_mappings":[{"member":"m1","partitions":[1,0]}],"filters":["a","b"]}`), "m1")
	f.Add([]byte(`{"max_members":1,"partitioning_filters":[{"filter":"*","partitioning_wildcards":[1]}],"members":[""]}`), "")
	f.Fuzz(func(t *testing.T, value []byte, member string) {
		for _, fl := range []*flavour{staticFlavour, elasticFlavour} {
			v, err := fl.view(value, member)
			if err != nil {
				if !errors.Is(err, ErrInvalidConfig) && !errors.Is(err, ErrLegacyConfig) {
					t.Fatalf("%s: %v", value, err)
				}
				continue
			}
			if len(v.partitions) > maxShare+1 || v.shape == "" || len(v.partitions) > 0 && !v.member {
				t.Fatalf("%s: %d partitions, member %t, shape %q", value, len(v.partitions), v.member, v.shape)
			}
			again, err := fl.view(value, member)
			if err != nil || again.shape != v.shape || !slices.Equal(again.filters, v.filters) {
				t.Fatalf("%s: read differently the second time", value)
			}
		}
	})
}

// FuzzMessage gives the session any subject and reply subject that a server, or
// whoever publishes into its inbox, may send.
func FuzzMessage(f *testing.F) {
	f.Add("3.orders.k1", "$JS.ACK.ORDERS.m1.1.2.3.1700000000000000000.0")
	f.Add("orders", "$JS.ACK.hub.ACCOUNT.ORDERS.m1.1.2.3.1700000000000000000.0.token")
	f.Add("99999999999999999999.x", "$JS.ACK.ORDERS.m1.99999999999999999999.2.3.4.5")
	f.Add("-1.x", "$JS.ACK.ORDERS.m1.-1.x.3.4.5")
	f.Add("", "")
	f.Add("..", "..........")
	f.Fuzz(func(t *testing.T, subject, reply string) {
		p := leadingPartition(subject)
		if p < -1 {
			t.Fatalf("partition %d of %q", p, subject)
		}
		if rest := StripPartition(subject); len(rest) > len(subject) || !strings.HasSuffix(subject, rest) {
			t.Fatalf("%q stripped to %q", subject, rest)
		}
		_, _ = replyInfo(reply)
		_ = PartitioningTransformDestination(PartitioningFilter{Filter: subject, PartitioningWildcards: []int{1, 2}}, 4)
		_, _, _ = partitionOf(subject)
		_ = overlap(subject, reply)
		if overlap(subject, reply) != overlap(reply, subject) {
			t.Fatalf("%q and %q overlap one way only", subject, reply)
		}
	})
}
