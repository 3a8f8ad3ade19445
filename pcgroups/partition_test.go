package pcgroups

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	oracle "github.com/synadia-io/orbit.go/pcgroups"
	"pgregory.net/rapid"
)

// Random groups. Names repeat, sort differently by byte and by letter, are empty
// or not ASCII, as everything that was ever stored must still be divided the way
// the oracle divides it.
var (
	anyMember = rapid.OneOf(
		rapid.SampledFrom([]string{"m1", "m2", "m10", "M1", "a", "a-b", "", "é", "日本", "<&>", "m\x00", "\xff"}),
		rapid.StringN(0, 6, -1),
	)
	anyMembers = rapid.SliceOfN(anyMember, 0, 24)
	anyFilter  = rapid.SampledFrom([]string{">", "foo.*", "foo.>", "bar.*.*", "bar.*.>", "*.é.>", "foo"})
)

// anyMappings deals partitions to members: mostly all of them once each, in any
// order, sometimes too few, twice, or none at all.
func anyMappings(t *rapid.T, partitions uint) []MemberMapping {
	n := rapid.IntRange(0, min(int(partitions)+1, 6)).Draw(t, "mapped members")
	if n == 0 {
		return rapid.SampledFrom([][]MemberMapping{nil, {}}).Draw(t, "no mappings")
	}
	out := make([]MemberMapping, n)
	for i := range out {
		out[i].Member = fmt.Sprintf("m%d", i)
		if rapid.IntRange(0, 9).Draw(t, "odd member") == 0 {
			out[i].Member = anyMember.Draw(t, "member")
		}
	}
	all := make([]int, partitions)
	for p := range all {
		all[p] = p
	}
	for _, p := range rapid.Permutation(all).Draw(t, "deal") {
		to := &out[rapid.IntRange(0, n-1).Draw(t, "owner")]
		to.Partitions = append(to.Partitions, p)
	}
	if rapid.IntRange(0, 3).Draw(t, "spoil") == 0 {
		to := &out[rapid.IntRange(0, n-1).Draw(t, "spoiled")]
		to.Partitions = append(to.Partitions, rapid.IntRange(-1, int(partitions)).Draw(t, "extra partition"))
	}
	if rapid.IntRange(0, 5).Draw(t, "forget") == 0 {
		out[0].Partitions = out[0].Partitions[:len(out[0].Partitions)/2]
	}
	return out
}

func oracleMappings(in []MemberMapping) []oracle.MemberMapping {
	if in == nil {
		return nil
	}
	out := make([]oracle.MemberMapping, len(in))
	for i, m := range in {
		out[i] = oracle.MemberMapping(m)
	}
	return out
}

// twinOwners is the division in its dumbest form: the owner of every partition,
// by writing each name down as often as it has partitions.
func twinOwners(partitions int, members []string) []string {
	set := map[string]bool{}
	for _, m := range members {
		set[m] = true
	}
	var names []string
	for m := range set {
		names = append(names, m)
	}
	slices.Sort(names)
	if len(names) > partitions {
		names = names[:partitions]
	}
	var owners []string
	if len(names) == 0 {
		return owners
	}
	for _, m := range names {
		for range partitions / len(names) {
			owners = append(owners, m)
		}
	}
	for i := 0; len(owners) < partitions; i++ {
		owners = append(owners, names[i])
	}
	return owners
}

func twinFilters(partitions int, members []string, member, filter string) []string {
	var out []string
	for p, owner := range twinOwners(partitions, members) {
		if owner == member {
			out = append(out, fmt.Sprint(p, ".", filter))
		}
	}
	return out
}

// sameList compares nil and empty as equal: neither reaches the wire.
func sameList(a, b []string) bool { return slices.Equal(a, b) }

// A partition without an owner loses messages silently and one with two owners
// handles them twice; an assignment that differs from the oracle's does both in
// a mixed group. So every small group is tried, in an order of names that is not
// the order of creation.
func TestEveryPartitionIsOwnedExactlyOnce(t *testing.T) {
	for partitions := 1; partitions <= 16; partitions++ {
		for n := 0; n <= 18; n++ {
			members := make([]string, n)
			for i := range members {
				members[i] = fmt.Sprintf("m%d", n-i) // m10 sorts before m2
			}
			checkSmallGroup(t, partitions, members)
		}
	}
}

func checkSmallGroup(t *testing.T, partitions int, members []string) {
	t.Helper()
	assigned := Assignments(uint(partitions), members, nil)
	owners, active := make([]int, partitions), 0
	for m, parts := range assigned {
		if len(parts) > 0 {
			active++
		}
		for i, p := range parts {
			owners[p]++
			// A contiguous run; only the last one may be dealt from the remainder.
			if i > 0 && p != parts[i-1]+1 && i != len(parts)-1 {
				t.Errorf("%d partitions, %d members: %s has %v, which is not one run and a remainder", partitions, len(members), m, parts)
			}
		}
	}
	for p, n := range owners {
		if want := min(len(members), 1); n != want {
			t.Errorf("%d partitions, %d members: partition %d has %d owners", partitions, len(members), p, n)
		}
	}
	if active != min(partitions, len(members)) {
		t.Errorf("%d partitions, %d members: %d members have partitions", partitions, len(members), active)
	}
	if len(assigned) != len(members) {
		t.Errorf("%d partitions, %d members: %d are in the result", partitions, len(members), len(assigned))
	}
	for _, m := range append(slices.Clone(members), "stranger") {
		got := GeneratePartitionFilters(members, uint(partitions), nil, m, "foo.*")
		if want := oracle.GeneratePartitionFilters(members, uint(partitions), nil, m, "foo.*"); !sameList(got, want) {
			t.Errorf("%d partitions, %d members: %s has %v, the oracle gives %v", partitions, len(members), m, got, want)
		}
		if want := twinFilters(partitions, members, m, "foo.*"); !sameList(got, want) {
			t.Errorf("%d partitions, %d members: %s has %v, want %v", partitions, len(members), m, got, want)
		}
	}
}

// A small exhaustive test does not meet duplicate, empty or non-ASCII names, nor
// mappings; any disagreement about those splits a mixed group. The input must
// stay as it was: a library that sorts its caller's slice changes what a static
// group stores.
func TestPartitionFiltersEqualTheOracles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.UintRange(0, 40).Draw(t, "partitions")
		members := anyMembers.Draw(t, "members")
		var mappings []MemberMapping
		if len(members) == 0 || rapid.Bool().Draw(t, "both") {
			mappings = anyMappings(t, partitions)
		}
		filter := anyFilter.Draw(t, "filter")
		before := slices.Clone(members)

		names := append(slices.Clone(members), "stranger", "m0", "")
		for _, m := range names {
			got := GeneratePartitionFilters(members, partitions, mappings, m, filter)
			want := oracle.GeneratePartitionFilters(members, partitions, oracleMappings(mappings), m, filter)
			if !sameList(got, want) {
				t.Fatalf("%q: got %q, the oracle gives %q", m, got, want)
			}
			if len(members) != 0 && !sameList(got, twinFilters(int(partitions), members, m, filter)) {
				t.Fatalf("%q: got %q, want %q", m, got, twinFilters(int(partitions), members, m, filter))
			}
		}
		if !slices.Equal(before, members) {
			t.Fatalf("the caller's members were changed from %q to %q", before, members)
		}
	})
}

// Terraform's plan and Status show Assignments, the server is given filters. If
// the two ever differ, operators are told of partitions that another member has.
func TestAssignmentsAgreeWithFilters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := StaticConsumerGroupConfig{MaxMembers: rapid.UintRange(1, 40).Draw(t, "partitions"), Members: anyMembers.Draw(t, "members")}
		if len(c.Members) == 0 {
			c.MemberMappings = anyMappings(t, c.MaxMembers)
		}
		e := ElasticConsumerGroupConfig{MaxMembers: c.MaxMembers, Members: c.Members, MemberMappings: c.MemberMappings}
		assigned := c.Assignments()
		if got := e.Assignments(); !reflect.DeepEqual(got, assigned) {
			t.Fatalf("static %v, elastic %v", assigned, got)
		}
		for m, parts := range assigned {
			if !c.IsInMembership(m) {
				t.Fatalf("%q has an assignment but is no member", m)
			}
			if got := partitionsOf(c.MaxMembers, c.Members, c.MemberMappings, m); !slices.Equal(got, parts) {
				t.Fatalf("%q: %v alone, %v among all", m, got, parts)
			}
			var want []string
			for _, p := range parts {
				if f := strconv.Itoa(p) + ".>"; !slices.Contains(want, f) {
					want = append(want, f)
				}
			}
			if got := StaticGetPartitionFilters(c, m); !sameList(got, want) {
				t.Fatalf("%q: static filters %q for partitions %v", m, got, parts)
			}
			if got := ElasticGetPartitionFilters(e, m); !sameList(got, want) {
				t.Fatalf("%q: elastic filters %q for partitions %v", m, got, parts)
			}
		}
		for _, m := range append(slices.Clone(c.Members), memberNames(nil, c.MemberMappings)...) {
			if _, found := assigned[m]; !found {
				t.Fatalf("%q is a member but not in the assignments", m)
			}
		}
	})
}

// These are the vectors that the oracle printed for the published contract; they
// hold even if both implementations were to change together. Filter-major order
// is part of it: a consumer created with another order is another consumer.
func TestFiltersOfThePublishedVectors(t *testing.T) {
	e := ElasticConsumerGroupConfig{
		MaxMembers:          7,
		PartitioningFilters: []PartitioningFilter{{Filter: "foo.*", PartitioningWildcards: []int{1}}, {Filter: "bar.>"}},
		Members:             []string{"m1", "m2", "m3"},
	}
	want := map[string]string{
		"m1": "0.foo.* 1.foo.* 6.foo.* 0.bar.> 1.bar.> 6.bar.>",
		"m2": "2.foo.* 3.foo.* 2.bar.> 3.bar.>",
		"m3": "4.foo.* 5.foo.* 4.bar.> 5.bar.>",
		"m4": "",
	}
	s := StaticConsumerGroupConfig{MaxMembers: 7, Filters: []string{"foo.*", "bar.>"}, Members: e.Members}
	for m, filters := range want {
		if got := strings.Join(ElasticGetPartitionFilters(e, m), " "); got != filters {
			t.Errorf("elastic %s: %s", m, got)
		}
		if got := strings.Join(StaticGetPartitionFilters(s, m), " "); got != filters {
			t.Errorf("static %s: %s", m, got)
		}
	}
	if got, want := e.Assignments(), map[string][]int{"m1": {0, 1, 6}, "m2": {2, 3}, "m3": {4, 5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("assignments %v", got)
	}
}

// The one deliberate difference in consumer configurations: with mappings the
// oracle repeats every <partition>.> once for each filter of the group, and the
// server refuses that (10138), so such a group could be created but never
// consumed.
func TestMappingsWithSeveralFiltersAreDeduplicated(t *testing.T) {
	mappings := []MemberMapping{{Member: "m1", Partitions: []int{2, 0}}, {Member: "m2", Partitions: []int{1}}}
	filters := []PartitioningFilter{{Filter: "foo.*"}, {Filter: "bar.*"}}

	theirs := oracle.ElasticGetPartitionFilters(oracle.ElasticConsumerGroupConfig{
		MaxMembers: 3, MemberMappings: oracleMappings(mappings),
		PartitioningFilters: []oracle.PartitioningFilter{oracle.PartitioningFilter(filters[0]), oracle.PartitioningFilter(filters[1])},
	}, "m1")
	if !sameList(theirs, []string{"2.>", "0.>", "2.>", "0.>"}) {
		t.Fatalf("the oracle gives %v; it no longer has the fault, so this divergence can go", theirs)
	}
	e := ElasticConsumerGroupConfig{MaxMembers: 3, MemberMappings: mappings, PartitioningFilters: filters}
	if got := ElasticGetPartitionFilters(e, "m1"); !sameList(got, []string{"2.>", "0.>"}) {
		t.Errorf("elastic: %v", got)
	}
	s := StaticConsumerGroupConfig{MaxMembers: 3, MemberMappings: mappings, Filters: []string{"foo.*", "bar.*"}}
	if got := StaticGetPartitionFilters(s, "m1"); !sameList(got, []string{"2.>", "0.>"}) {
		t.Errorf("static: %v", got)
	}
}

// Whatever the group looks like, a member's filters are the oracle's with later
// repetitions left out, and so exactly the oracle's wherever the oracle's
// consumer could be created. Otherwise two instances of one member delete each
// other's consumer for ever.
func TestMemberFiltersEqualTheOraclesWhereTheseWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := StaticConsumerGroupConfig{
			MaxMembers: rapid.UintRange(1, 20).Draw(t, "partitions"),
			Filters:    rapid.SliceOfN(anyFilter, 0, 3).Draw(t, "filters"),
		}
		if rapid.Bool().Draw(t, "mapped") {
			s.MemberMappings = anyMappings(t, s.MaxMembers)
		} else {
			s.Members = anyMembers.Draw(t, "members")
		}
		e := ElasticConsumerGroupConfig{MaxMembers: s.MaxMembers, Members: s.Members, MemberMappings: s.MemberMappings}
		o := oracle.ElasticConsumerGroupConfig{MaxMembers: s.MaxMembers, Members: s.Members, MemberMappings: oracleMappings(s.MemberMappings)}
		for _, f := range s.Filters {
			e.PartitioningFilters = append(e.PartitioningFilters, PartitioningFilter{Filter: f})
			o.PartitioningFilters = append(o.PartitioningFilters, oracle.PartitioningFilter{Filter: f})
		}
		for _, m := range append(memberNames(s.Members, s.MemberMappings), "stranger") {
			var want []string
			for _, f := range oracle.ElasticGetPartitionFilters(o, m) {
				if !slices.Contains(want, f) {
					want = append(want, f)
				}
			}
			if got := ElasticGetPartitionFilters(e, m); !sameList(got, want) {
				t.Fatalf("elastic %q: got %q, want %q", m, got, want)
			}
			if got := StaticGetPartitionFilters(s, m); !sameList(got, want) {
				t.Fatalf("static %q: got %q, want %q", m, got, want)
			}
		}
	})
}

// A handler that sees the partition number, or a subject cut at the wrong dot,
// routes to the wrong place. The oracle returns a subject without a dot whole.
func TestStripPartition(t *testing.T) {
	for subject, want := range map[string]string{
		"0.orders.17": "orders.17", "12.a": "a", "3.": "", "orders": "orders", "": "", ".a.b": "a.b", "7.日.本": "日.本", "é.x": "x",
	} {
		if got := StripPartition(subject); got != want {
			t.Errorf("%q became %q, want %q", subject, got, want)
		}
	}
}

// One member's assignment and filters with 10,000 partitions: the bar is 5 ms.
func BenchmarkFilters10000(b *testing.B) {
	c := benchGroup(10_000, 10)
	for b.Loop() {
		partitionsOf(c.MaxMembers, c.Members, nil, "m0")
		ElasticGetPartitionFilters(c, "m0")
	}
}

// All members' assignments and filters: from 1,000 to 10,000 partitions the time
// should grow by about 10, whatever the number of members.
func BenchmarkFiltersOfAllMembers(b *testing.B) {
	for _, members := range []int{10, 100} {
		for _, partitions := range []uint{1_000, 10_000} {
			b.Run(fmt.Sprintf("members=%d/partitions=%d", members, partitions), func(b *testing.B) {
				c := benchGroup(partitions, members)
				for b.Loop() {
					c.Assignments()
					for _, m := range c.Members {
						ElasticGetPartitionFilters(c, m)
					}
				}
			})
		}
	}
}

func benchGroup(partitions uint, members int) ElasticConsumerGroupConfig {
	c := ElasticConsumerGroupConfig{
		MaxMembers:          partitions,
		PartitioningFilters: []PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}},
	}
	for i := range members {
		c.Members = append(c.Members, fmt.Sprintf("m%d", i))
	}
	return c
}

// Prevents: the one-pass form giving a member other filters than the member
// computes for itself.
func TestAllPartitionFilters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "partitions")
		members := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 8).Draw(t, "members")
		filters := rapid.SampledFrom([][]string{nil, {"foo.*"}, {"foo.*", "bar.>"}}).Draw(t, "filters")
		var mappings []MemberMapping
		if len(members) == 0 {
			for p := range n {
				mappings = append(mappings, MemberMapping{Member: string(rune('a' + p)), Partitions: []int{p}})
			}
		}
		s := StaticConsumerGroupConfig{MaxMembers: uint(n), Filters: filters, Members: members, MemberMappings: mappings}
		for m, got := range s.AllPartitionFilters() {
			if want := StaticGetPartitionFilters(s, m); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", m, got, want)
			}
		}
		e := ElasticConsumerGroupConfig{MaxMembers: uint(n), Members: members, MemberMappings: mappings}
		for _, f := range filters {
			e.PartitioningFilters = append(e.PartitioningFilters, PartitioningFilter{Filter: f})
		}
		for m, got := range e.AllPartitionFilters() {
			if want := ElasticGetPartitionFilters(e, m); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", m, got, want)
			}
		}
	})
}
