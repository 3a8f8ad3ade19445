package conformance

import (
	"fmt"
	"math"
)

// vectorConfigs are the configurations that several vector files start from.
func vectorConfigs() []VectorConfig {
	s := func(n uint, filters, members []string, m []MemberMapping) VectorConfig {
		return VectorConfig{Kind: Static, MaxMembers: n, Filters: filters, Members: members, Mappings: m}
	}
	e := func(n uint, filters []PartitioningFilter, msgs, bytes int64, members []string, m []MemberMapping) VectorConfig {
		return VectorConfig{Kind: Elastic, MaxMembers: n, Partition: filters, Msgs: msgs, Bytes: bytes, Members: members, Mappings: m}
	}
	one := []PartitioningFilter{{Filter: "foo.*.>", Wildcards: []int{1}}}
	many := []PartitioningFilter{{Filter: "foo.*", Wildcards: []int{1}}, {Filter: "bar.>", Wildcards: []int{}}, {Filter: "baz.*.*", Wildcards: nil}}
	two := []MemberMapping{{Member: "m2", Partitions: []int{2, 0}}, {Member: "m1", Partitions: []int{1}}}
	return []VectorConfig{
		s(2, nil, nil, nil),
		s(2, []string{}, []string{}, []MemberMapping{}),
		s(2, []string{"foo.>"}, []string{"m1", "m2"}, nil),
		s(4, nil, []string{"m2", "m10", "m1", "m2"}, nil),
		s(3, []string{"foo.*", "bar.*.>"}, []string{"m1", "m2"}, nil),
		s(3, nil, nil, two),
		s(3, []string{"foo.*", "bar.*"}, nil, two),
		s(2, []string{"a<b.&.>"}, []string{"<&>", "日本", "line\u2028"}, nil),
		s(math.MaxInt32, nil, nil, nil),
		e(6, nil, 0, 0, nil, nil),
		e(6, []PartitioningFilter{}, -1, -1, nil, nil),
		e(6, []PartitioningFilter{{Filter: "foo.>", Wildcards: nil}}, -1, -1, []string{"m1"}, nil),
		e(6, []PartitioningFilter{{Filter: "foo.>", Wildcards: []int{}}}, -1, -1, []string{"m1"}, nil),
		e(6, one, -1, -1, []string{"m1"}, nil),
		e(6, one, 20000, math.MaxInt64, []string{"m1", "m2"}, nil),
		e(6, one, 0, 1<<20, []string{"m1", "m2", "m3", "m4"}, nil),
		e(7, many, -1, -1, []string{"m1", "m2", "m3"}, nil),
		e(2, many, -1, -1, []string{"m3", "m1", "m2"}, nil),
		e(3, one, -1, -1, nil, two),
		e(3, many, -1, -1, nil, two),
		e(3, one, -1, -1, []string{}, []MemberMapping{}),
		e(3, []PartitioningFilter{{Filter: "*.*.*", Wildcards: []int{3, 1}}}, -1, -1, []string{"b", "a", "A", "a"}, nil),
	}
}

func assignmentInputs() []AssignmentVector {
	var out []AssignmentVector
	for _, n := range []uint{1, 2, 3, 5, 6, 7, 8, 16} {
		for _, m := range []int{1, 2, 3, 4, 7, 9} {
			v := AssignmentVector{MaxMembers: n}
			for i := range m {
				v.Members = append(v.Members, fmt.Sprintf("m%d", i+1))
			}
			out = append(out, v)
		}
	}
	return append(out,
		AssignmentVector{MaxMembers: 4},
		AssignmentVector{MaxMembers: 4, Members: []string{"b", "a", "c", "a", "B", "10", "9"}},
		AssignmentVector{MaxMembers: 3, Mappings: []MemberMapping{{"z", []int{2, 0}}, {"a", []int{1}}}},
		AssignmentVector{MaxMembers: 2, Mappings: []MemberMapping{{"a", []int{0, 1}}, {"none", []int{}}}},
	)
}

// validInputs are stored values, for and against.
func validInputs() []ValidVector {
	s := func(value string) ValidVector { return ValidVector{Kind: Static, Value: value} }
	e := func(value string) ValidVector { return ValidVector{Kind: Elastic, Value: value} }
	filter := func(text string) ValidVector {
		return e(`{"max_members":4,"partitioning_filters":[` + text + `]}`)
	}
	mapping := func(n int, text string) []ValidVector {
		return []ValidVector{
			s(fmt.Sprintf(`{"max_members":%d,"member_mappings":%s}`, n, text)),
			e(fmt.Sprintf(`{"max_members":%d,"partitioning_filters":[],"member_mappings":%s}`, n, text)),
		}
	}
	out := []ValidVector{
		s(`{"max_members":0}`), e(`{"max_members":0,"partitioning_filters":null}`), s(`{}`), e(`{}`),
		s(`{"max_members":1}`), e(`{"max_members":1,"partitioning_filters":null}`), e(`{"max_members":1}`), e(`{"max_members":1,"partitioning_filters":[]}`),
		s(`{"max_members":2,"members":["m1","m2","m3","m1"]}`), e(`{"max_members":2,"partitioning_filters":[],"members":["m1","m2","m3","m1"]}`),
		s(`{"max_members":2,"members":["m1"],"member_mappings":[{"member":"m1","partitions":[0,1]}]}`),
		e(`{"max_members":2,"partitioning_filters":[],"members":["m1"],"member_mappings":[{"member":"m1","partitions":[0,1]}]}`),
		filter(`{"filter":"foo.*","partitioning_wildcards":[1]}`),
		filter(`{"filter":"foo.*","partitioning_wildcards":[]}`), filter(`{"filter":"foo.*","partitioning_wildcards":null}`), filter(`{"filter":"foo.*"}`),
		filter(`{"filter":"foo.>","partitioning_wildcards":[]}`), filter(`{"filter":">","partitioning_wildcards":[]}`),
		filter(`{"filter":"","partitioning_wildcards":[]}`), filter(`{"filter":"foo","partitioning_wildcards":[]}`),
		filter(`{"filter":"foo.*","partitioning_wildcards":[0]}`), filter(`{"filter":"foo.*","partitioning_wildcards":[2]}`),
		filter(`{"filter":"foo.*.*","partitioning_wildcards":[1,1]}`), filter(`{"filter":"foo.*.*","partitioning_wildcards":[2,1]}`),
		filter(`{"filter":"foo.*","partitioning_wildcards":[1,2]}`), filter(`{"filter":"foo.>","partitioning_wildcards":[1]}`),
		filter(`{"filter":"foo.*","partitioning_wildcards":[1]},{"filter":"bar","partitioning_wildcards":[]}`),
	}
	out = append(out, mapping(3, `[{"member":"m1","partitions":[2,0]},{"member":"m2","partitions":[1]}]`)...)
	out = append(out, mapping(3, `[{"member":"m1","partitions":[0,1,2]},{"member":"m2","partitions":[]}]`)...)
	out = append(out, mapping(3, `[{"member":"m1","partitions":[0,1]}]`)...)
	out = append(out, mapping(2, `[{"member":"m1","partitions":[0]},{"member":"m1","partitions":[1]}]`)...)
	out = append(out, mapping(2, `[{"member":"m1","partitions":[0]},{"member":"m2","partitions":[0,1]}]`)...)
	out = append(out, mapping(2, `[{"member":"m1","partitions":[0,1,2]}]`)...)
	out = append(out, mapping(2, `[{"member":"m1","partitions":[-1,0]}]`)...)
	return append(out, mapping(1, `[{"member":"m1","partitions":[0]},{"member":"m2","partitions":[]}]`)...)
}

// hashInputs are subjects without a partition.
func hashInputs() []HashVector {
	var out []HashVector
	for _, f := range []struct {
		filter    string
		wildcards []int
		subjects  []string
	}{
		{"orders.*", []int{1}, []string{"orders.1", "orders.2", "orders.17", "orders.abc", "orders.日本"}},
		{"orders.*.*", []int{2, 1}, []string{"orders.a.b", "orders.b.a", "orders.ab.c", "orders.a.bc"}},
		{"orders.*.*.>", []int{2}, []string{"orders.a.b.c", "orders.x.b.d.e", "orders.x.y.z"}},
		{"orders.*", nil, []string{"orders.1", "orders.2"}},
		{">", nil, []string{"orders.1", "orders", "a.b.c.d.e"}},
	} {
		for _, n := range []uint{1, 2, 7, 16, 1000} {
			for _, s := range f.subjects {
				out = append(out, HashVector{Subject: s, Filter: f.filter, Wildcards: f.wildcards, MaxMembers: n})
			}
		}
	}
	return out
}
