package pcgroups

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	oracle "github.com/synadia-io/orbit.go/pcgroups"
	"pgregory.net/rapid"
)

var (
	anyWildcards = rapid.SampledFrom([][]int{nil, {}, {1}, {2}, {1, 2}, {2, 1}, {1, 1}, {0}, {-1}, {3}, {1, 2, 3}})
	anyLimit     = rapid.SampledFrom([]int64{0, -1, 1, 1000, -2, 1 << 40})
	oddFilter    = rapid.SampledFrom([]string{"", ".", "foo", "foo..*", "foo.>.*", "*", "*>", "fo*.>", "foo.* ", "é.*"})
	anyPF        = rapid.Custom(func(t *rapid.T) PartitioningFilter {
		return PartitioningFilter{
			Filter:                rapid.OneOf(anyFilter, anyFilter, oddFilter).Draw(t, "filter"),
			PartitioningWildcards: anyWildcards.Draw(t, "wildcards"),
		}
	})
	anyPFs = rapid.OneOf(
		rapid.SampledFrom([][]PartitioningFilter{nil, {}, {{Filter: "foo.*", PartitioningWildcards: []int{1}}}}),
		rapid.SliceOfN(anyPF, 0, 3),
	)
	anyStatic = rapid.Custom(func(t *rapid.T) oracle.StaticConsumerGroupConfig {
		c := oracle.StaticConsumerGroupConfig{
			MaxMembers: rapid.UintRange(0, 8).Draw(t, "partitions"),
			Filters:    rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(rapid.OneOf(anyFilter, oddFilter), 0, 3)).Draw(t, "filters"),
		}
		c.Members, c.MemberMappings = anyMembership(t, c.MaxMembers)
		return c
	})
	anyElastic = rapid.Custom(func(t *rapid.T) oracle.ElasticConsumerGroupConfig {
		c := oracle.ElasticConsumerGroupConfig{
			MaxMembers:       rapid.UintRange(0, 8).Draw(t, "partitions"),
			MaxBufferedMsgs:  anyLimit.Draw(t, "messages"),
			MaxBufferedBytes: anyLimit.Draw(t, "bytes"),
		}
		pfs := anyPFs.Draw(t, "filters")
		if pfs != nil {
			c.PartitioningFilters = []oracle.PartitioningFilter{}
		}
		for _, f := range pfs {
			c.PartitioningFilters = append(c.PartitioningFilters, oracle.PartitioningFilter(f))
		}
		c.Members, c.MemberMappings = anyMembership(t, c.MaxMembers)
		return c
	})
)

// anyMembership is mostly members or mappings, now and then both.
func anyMembership(t *rapid.T, partitions uint) (members []string, mappings []oracle.MemberMapping) {
	which := rapid.IntRange(0, 9).Draw(t, "membership")
	if which < 4 || which == 9 {
		members = rapid.OneOf(rapid.Just([]string(nil)), anyMembers).Draw(t, "members")
	}
	if which >= 4 {
		mappings = oracleMappings(anyMappings(t, partitions))
	}
	return members, mappings
}

// The goldens hold what someone thought of. On any other configuration too the
// bytes must be the oracle's, or a rewrite by us ends its running members.
func TestAnyConfigurationIsEncodedAsTheOracleDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, e := anyStatic.Draw(t, "static"), anyElastic.Draw(t, "elastic")
		for _, pair := range [][2]any{{s, ourStatic(s)}, {e, ourElastic(e)}} {
			theirs, _ := json.Marshal(pair[0])
			if ours := marshal(pair[1]); string(ours) != string(theirs) {
				t.Fatalf("wrote\n%s, the oracle writes\n%s", ours, theirs)
			}
		}
	})
}

// Other implementations write blanks, raw angle brackets and their own key
// order. A value that only a compact encoder's reader understands shuts their
// groups out, and one that changes when read twice would never settle.
func TestForeignEncodingsAreRead(t *testing.T) {
	want := &ElasticConsumerGroupConfig{
		MaxMembers:          6,
		PartitioningFilters: []PartitioningFilter{{Filter: "foo.*.>", PartitioningWildcards: []int{1}}},
		MaxBufferedMsgs:     -1,
		Members:             []string{"m1", "m<2>"},
	}
	for name, value := range map[string]string{
		"blanks":      `{"max_members": 6, "partitioning_filters": [{"filter": "foo.*.>", "partitioning_wildcards": [1]}], "max_buffered_msg": -1, "members": ["m1", "m<2>"]}`,
		"indented":    "{\n  \"members\": [\n    \"m1\",\n    \"m<2>\"\n  ],\n  \"partitioning_filters\": [ { \"partitioning_wildcards\": [ 1 ], \"filter\": \"foo.*.>\" } ],\n  \"max_buffered_msg\": -1,\n  \"max_members\": 6\n}\n",
		"upper hex":   `{"max_members":6,"partitioning_filters":[{"filter":"foo.*.\u003E","partitioning_wildcards":[1]}],"max_buffered_msg":-1,"members":["m1","m\u003C2\u003E"]}`,
		"unknown key": `{"future":{"filter":"x"},"max_members":6,"partitioning_filters":[{"filter":"foo.*.>","partitioning_wildcards":[1],"extra":0}],"max_buffered_msg":-1,"members":["m1","m<2>"],"member_mappings":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := decodeElastic([]byte(value))
			if err != nil || !reflect.DeepEqual(c, want) {
				t.Fatalf("read %+v, %v", c, err)
			}
			again, err := decodeElastic(marshal(c))
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("read again %+v, %v", again, err)
			}
		})
	}
}

// A member that thinks it is not in the group waits for ever; one that wrongly
// thinks it is joins without partitions.
func TestIsInMembership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, e := anyStatic.Draw(t, "static"), anyElastic.Draw(t, "elastic")
		names := append(append(slices.Clone(s.Members), e.Members...), "m0", "m1", "", "stranger")
		for _, m := range names {
			if got, want := ourStatic(s).IsInMembership(m), s.IsInMembership(m); got != want {
				t.Fatalf("static %q: %v", m, got)
			}
			if got, want := ourElastic(e).IsInMembership(m), e.IsInMembership(m); got != want {
				t.Fatalf("elastic %q: %v", m, got)
			}
		}
	})
	mapped := StaticConsumerGroupConfig{MaxMembers: 1, MemberMappings: []MemberMapping{{Member: "m1", Partitions: []int{0}}}}
	if !mapped.IsInMembership("m1") || mapped.IsInMembership("m") {
		t.Error("a mapped member is not found by its exact name")
	}
	crowd := ElasticConsumerGroupConfig{MaxMembers: 1, Members: []string{"m1", "m2"}}
	if !crowd.IsInMembership("m2") {
		t.Error("a member past the partition count is a member without partitions, as in the oracle")
	}
}

// The oracle reads configurations of v0.1.0 and of the prototype as "no filters"
// and erases the real ones with its next write, which stops their members. They
// must be recognised, and told apart from damaged and from merely unknown keys.
func TestLegacyConfigurationsAreRefused(t *testing.T) {
	const (
		ok     = "" // accepted
		legacy = "legacy format: it has the key "
	)
	static := func(b []byte) error { _, err := decodeStatic(b); return err }
	elastic := func(b []byte) error { _, err := decodeElastic(b); return err }
	for _, c := range []struct {
		name, value, want string
		decode            func([]byte) error
	}{
		{"v0.1.0 static", `{"max_members":2,"filter":"foo.>","members":["m1"]}`, legacy + `"filter"`, static},
		{"v0.1.0 elastic", `{"max_members":2,"filter":"foo.*","partitioning_wildcards":[1],"max_buffered_msg":1,"members":["m1"]}`, legacy + `"filter"`, elastic},
		{"elastic with wildcards only", `{"max_members":2,"partitioning_wildcards":[1]}`, legacy + `"partitioning_wildcards"`, elastic},
		{"prototype static", `{"max-members":2,"filter":"foo.>","members":["m1"]}`, legacy + `"filter"`, static},
		{"prototype static, no filter", `{"max-members":2,"member-mappings":[{"member":"m1","partitions":[0,1]}]}`, legacy + `"max-members"`, static},
		{"prototype mappings in a static group", `{"max_members":2,"member-mappings":[{"member":"m1","partitions":[0,1]}]}`, legacy + `"member-mappings"`, static},
		{"prototype elastic", `{"max-members":2,"partitioning-wildcards":[1],"msg-buffer-size":10}`, legacy + `"max-members"`, elastic},
		{"prototype mappings among current keys", `{"max_members":2,"partitioning_filters":[],"member-mappings":[]}`, legacy + `"member-mappings"`, elastic},
		{"prototype buffer among current keys", `{"max_members":2,"partitioning_filters":[],"msg-buffer-size":10}`, legacy + `"msg-buffer-size"`, elastic},
		{"empty filter", `{"max_members":2,"filter":""}`, legacy + `"filter"`, static},
		{"both shapes", `{"max_members":2,"filter":"foo.>","filters":["foo.>"]}`, legacy + `"filter"`, static},
		{"filter inside a filter", `{"max_members":2,"partitioning_filters":[{"filter":"foo.>","partitioning_wildcards":[]}]}`, ok, elastic},
		{"legacy word as a value", `{"max_members":2,"members":["filter"]}`, ok, static},
		{"unknown key", `{"max_members":2,"filters":["foo.>"],"paused":true}`, ok, static},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.decode([]byte(c.value))
			if errors.Is(err, ErrLegacyConfig) != (c.want != ok) || (c.want == ok) != (err == nil) {
				t.Fatalf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), c.want+"; stop its members, delete the group and create it again") {
				t.Errorf("the message does not say what to do: %v", err)
			}
		})
	}
}

// A value that is no configuration must be reported as one, with the decoder's
// reason and what to do, never as a missing group or an empty one.
func TestDamagedValuesAreRefused(t *testing.T) {
	for _, value := range []string{"", "{", "null", "[]", `"x"`, "7", `{"max_members":-1}`, `{"max_members":"2"}`, `{"max_members":2}x`, `{"max_members":2,"members":"m1"}`, `{}`} {
		_, serr := decodeStatic([]byte(value))
		_, eerr := decodeElastic([]byte(value))
		for _, err := range []error{serr, eerr} {
			if !errors.Is(err, ErrInvalidConfig) {
				t.Errorf("%q: %v", value, err)
			}
		}
	}
	_, err := decodeStatic([]byte(`{"max_members":`))
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || !strings.HasSuffix(err.Error(), "the stored value is not a configuration; repair or delete the group's key") {
		t.Errorf("the cause or the advice is missing: %v", err)
	}
}

// The oracle compares with reflect.DeepEqual, so that a group created with nil
// can not be created again with an empty list, by another program or by the same
// one after a round trip through another language.
func TestNilAndEmptyAreTheSameGroup(t *testing.T) {
	one := []PartitioningFilter{{Filter: "foo.>"}}
	other := []PartitioningFilter{{Filter: "foo.>", PartitioningWildcards: []int{}}}
	for _, pair := range [][2][]PartitioningFilter{{nil, {}}, {one, other}} {
		a, b := &ElasticConsumerGroupConfig{MaxMembers: 2, PartitioningFilters: pair[0]}, &ElasticConsumerGroupConfig{MaxMembers: 2, PartitioningFilters: pair[1]}
		if !sameElasticShape(a, b) || !sameElasticShape(b, a) {
			t.Errorf("%#v and %#v are told apart", pair[0], pair[1])
		}
	}
	a := &StaticConsumerGroupConfig{MaxMembers: 1}
	b := &StaticConsumerGroupConfig{MaxMembers: 1, Filters: []string{}, Members: []string{}, MemberMappings: []MemberMapping{}}
	if !sameStatic(a, b) || !sameStatic(b, a) {
		t.Error("nil and empty lists of a static group are told apart")
	}
	a.MemberMappings = []MemberMapping{{Member: "m", Partitions: []int{0}}, {Member: "idle"}}
	b.MemberMappings = []MemberMapping{{Member: "m", Partitions: []int{0}}, {Member: "idle", Partitions: []int{}}}
	if !sameStatic(a, b) {
		t.Error("nil and empty partitions are told apart")
	}
}

// The reverse fault: a field left out of a comparison makes creating a different
// group look like a success.
func TestEveryFieldMakesADifferentGroup(t *testing.T) {
	s := StaticConsumerGroupConfig{MaxMembers: 2, Filters: []string{"a", "b"}, Members: []string{"m1", "m2"},
		MemberMappings: []MemberMapping{{Member: "m1", Partitions: []int{0, 1}}}}
	for name, change := range map[string]func(*StaticConsumerGroupConfig){
		"max_members":     func(c *StaticConsumerGroupConfig) { c.MaxMembers++ },
		"filters":         func(c *StaticConsumerGroupConfig) { c.Filters = []string{"b", "a"} },
		"members":         func(c *StaticConsumerGroupConfig) { c.Members = c.Members[:1] },
		"mapping member":  func(c *StaticConsumerGroupConfig) { c.MemberMappings = []MemberMapping{{"m2", []int{0, 1}}} },
		"mapped order":    func(c *StaticConsumerGroupConfig) { c.MemberMappings = []MemberMapping{{"m1", []int{1, 0}}} },
		"mapping missing": func(c *StaticConsumerGroupConfig) { c.MemberMappings = nil },
	} {
		c := s
		if change(&c); sameStatic(&s, &c) || sameStatic(&c, &s) {
			t.Errorf("static groups that differ in %s pass for the same", name)
		}
		if text := otherConfig(s.fixed(), c.fixed()).Error(); !strings.Contains(text, " is ") {
			t.Errorf("what differs in %s is not named: %s", name, text)
		}
	}
	e := ElasticConsumerGroupConfig{MaxMembers: 2, PartitioningFilters: []PartitioningFilter{{"a.*.*", []int{1, 2}}}, MaxBufferedMsgs: 1, MaxBufferedBytes: 1}
	for name, change := range map[string]func(*ElasticConsumerGroupConfig){
		"max_members": func(c *ElasticConsumerGroupConfig) { c.MaxMembers++ },
		"filter": func(c *ElasticConsumerGroupConfig) {
			c.PartitioningFilters = []PartitioningFilter{{"b.*.*", []int{1, 2}}}
		},
		"wildcard order": func(c *ElasticConsumerGroupConfig) {
			c.PartitioningFilters = []PartitioningFilter{{"a.*.*", []int{2, 1}}}
		},
		"filter missing":     func(c *ElasticConsumerGroupConfig) { c.PartitioningFilters = nil },
		"max_buffered_msg":   func(c *ElasticConsumerGroupConfig) { c.MaxBufferedMsgs = -1 },
		"max_buffered_bytes": func(c *ElasticConsumerGroupConfig) { c.MaxBufferedBytes = 0 },
	} {
		c := e
		if change(&c); sameElasticShape(&e, &c) || sameElasticShape(&c, &e) {
			t.Errorf("elastic groups that differ in %s pass for the same", name)
		}
		if text := otherConfig(e.fixed(), c.fixed()).Error(); !strings.Contains(text, " is ") {
			t.Errorf("what differs in %s is not named: %s", name, text)
		}
	}
	c := e
	if c.Members = []string{"m1"}; !sameElasticShape(&e, &c) {
		t.Error("membership is part of the fixed shape: no member could ever be added")
	}
}

// The oracle's running members end when any tool rewrites null as [] or drops
// the key. Ours keep running; but they must notice every real change.
func TestRunningMembersIgnoreNilAgainstEmpty(t *testing.T) {
	shape := func(fl *flavour, value string) string {
		v, err := fl.view([]byte(value), "m1")
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		return v.shape
	}
	same := map[*flavour][][]string{
		elasticFlavour: {
			{`{"max_members":2,"partitioning_filters":null}`, `{"max_members":2,"partitioning_filters":[]}`, `{"max_members":2}`, `{"max_members":2,"members":["m1"],"unknown":1}`},
			{`{"max_members":2,"partitioning_filters":[{"filter":"a.>","partitioning_wildcards":null}]}`, `{"partitioning_filters":[{"filter":"a.>","partitioning_wildcards":[]}],"max_members":2}`, `{"max_members":2,"partitioning_filters":[{"filter":"a.>"}]}`},
		},
		staticFlavour: {
			{`{"max_members":2,"members":["m1"]}`, `{"max_members":2,"filters":null,"members":["m1"]}`, `{"max_members":2,"filters":[],"members":["m1"],"member_mappings":[]}`},
			{`{"max_members":2,"member_mappings":[{"member":"m1","partitions":[0,1]},{"member":"m2","partitions":null}]}`, `{"max_members":2,"member_mappings":[{"member":"m1","partitions":[0,1]},{"member":"m2","partitions":[]}]}`},
		},
	}
	for fl, groups := range same {
		seen := map[string]string{}
		for _, values := range groups {
			for _, v := range values {
				if shape(fl, v) != shape(fl, values[0]) {
					t.Errorf("%s: a member would end when\n%s becomes\n%s", fl.kind, values[0], v)
				}
			}
			if other := seen[shape(fl, values[0])]; other != "" {
				t.Errorf("%s: a member would not notice when\n%s becomes\n%s", fl.kind, other, values[0])
			}
			seen[shape(fl, values[0])] = values[0]
		}
	}
	for _, values := range [][2]string{
		{`{"max_members":2}`, `{"max_members":3}`},
		{`{"max_members":2}`, `{"max_members":2,"max_buffered_msg":-1}`},
		{`{"max_members":2}`, `{"max_members":2,"max_buffered_bytes":7}`},
		{`{"max_members":2,"partitioning_filters":[{"filter":"a.*.*","partitioning_wildcards":[1,2]}]}`, `{"max_members":2,"partitioning_filters":[{"filter":"a.*.*","partitioning_wildcards":[2,1]}]}`},
	} {
		if shape(elasticFlavour, values[0]) == shape(elasticFlavour, values[1]) {
			t.Errorf("a member would not notice when\n%s becomes\n%s", values[0], values[1])
		}
	}
}

// A session acts on the view alone. A partition that it claims without having
// the filter for it, or the reverse, shows operators a partition nobody consumes.
func TestViewAgreesWithTheConfiguration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, e := anyStatic.Draw(t, "static"), anyElastic.Draw(t, "elastic")
		member := rapid.SampledFrom(append(append([]string{"m0", "stranger"}, s.Members...), e.Members...)).Draw(t, "member")
		ours := ourElastic(e)
		if v, err := elasticFlavour.view(marshal(ours), member); err == nil {
			c, _ := decodeElastic(marshal(ours)) // as stored: not every string survives JSON
			checkView(t, v, c.IsInMembership(member), ElasticGetPartitionFilters(*c, member), c.Assignments()[member])
		} else if _, derr := decodeElastic(marshal(ours)); derr == nil {
			t.Fatalf("a valid configuration has no view: %v", err)
		}
		if v, err := staticFlavour.view(marshal(ourStatic(s)), member); err == nil {
			c, _ := decodeStatic(marshal(ourStatic(s)))
			checkView(t, v, c.IsInMembership(member), StaticGetPartitionFilters(*c, member), c.Assignments()[member])
		}
	})
}

func checkView(t *rapid.T, v view, member bool, filters []string, partitions []int) {
	t.Helper()
	if v.member != member || !sameList(v.filters, filters) || !slices.Equal(v.partitions, partitions) {
		t.Fatalf("view %+v, want member %v, filters %q, partitions %v", v, member, filters, partitions)
	}
	covered := map[string]bool{}
	for _, f := range v.filters {
		p, _, _ := strings.Cut(f, ".")
		covered[p] = true
	}
	for _, p := range v.partitions {
		if !covered[fmt.Sprint(p)] {
			t.Fatalf("partition %d has no filter among %q", p, v.filters)
		}
	}
	if len(covered) != len(v.partitions) {
		t.Fatalf("filters %q for partitions %v", v.filters, v.partitions)
	}
}

// FuzzDecodeStatic feeds the reader what any program may have put in the bucket.
// It must not panic, and must accept exactly what the oracle accepts unless it is
// legacy, with the same meaning: a value that one side refuses stops half of a
// mixed group.
func FuzzDecodeStatic(f *testing.F) {
	for name := range staticWire {
		f.Add(string(readWire(f, name)))
	}
	f.Add(`{"MAX_MEMBERS":2,"max_members":3,"members":["a"],"members":[null]}`)
	f.Add(`{"max_members":2,"filter":null}`)
	f.Add(`{"max_members":18446744073709551615,"member_mappings":[{"partitions":[0]}]}`)
	f.Fuzz(func(t *testing.T, value string) {
		var theirs oracle.StaticConsumerGroupConfig
		err := json.Unmarshal([]byte(value), &theirs)
		if err == nil {
			err = twinValidateStatic(theirs)
		}
		ours, ourErr := decodeStatic([]byte(value))
		checkVerdict(t, value, err, ourErr, "filter", "max-members", "member-mappings")
		if ourErr == nil && !reflect.DeepEqual(ours, ourStatic(theirs)) {
			t.Fatalf("%s\nread as %+v, by the oracle as %+v", value, ours, theirs)
		}
	})
}

// FuzzDecodeElastic is FuzzDecodeStatic for elastic groups.
func FuzzDecodeElastic(f *testing.F) {
	for name := range elasticWire {
		f.Add(string(readWire(f, name)))
	}
	f.Add(`{"max_members":2,"partitioning_filters":[{"Filter":"foo.*","filter":"bar.*","partitioning_wildcards":[1]}]}`)
	f.Add(`{"max_members":2,"filter":"foo.*","partitioning_wildcards":[1]}`)
	f.Fuzz(func(t *testing.T, value string) {
		var theirs oracle.ElasticConsumerGroupConfig
		err := json.Unmarshal([]byte(value), &theirs)
		if err == nil {
			err = twinValidateElastic(theirs)
		}
		ours, ourErr := decodeElastic([]byte(value))
		checkVerdict(t, value, err, ourErr, "filter", "partitioning_wildcards", "max-members", "member-mappings", "partitioning-wildcards", "msg-buffer-size")
		if ourErr == nil && !reflect.DeepEqual(ours, ourElastic(theirs)) {
			t.Fatalf("%s\nread as %+v, by the oracle as %+v", value, ours, theirs)
		}
	})
}

func checkVerdict(t *testing.T, value string, theirs, ours error, legacyKeys ...string) {
	t.Helper()
	var top map[string]any
	legacy := false
	if json.Unmarshal([]byte(value), &top) == nil {
		for _, k := range legacyKeys {
			_, found := top[k]
			legacy = legacy || found
		}
	}
	if (ours == nil) != (theirs == nil && !legacy) {
		t.Fatalf("%s\nlegacy %v; the oracle says %v, we say %v", value, legacy, theirs, ours)
	}
	if ours != nil && !errors.Is(ours, ErrInvalidConfig) && !errors.Is(ours, ErrLegacyConfig) {
		t.Fatalf("%s\nrefused without a sentinel: %v", value, ours)
	}
}

// Prevents: a user who is told that a group exists with another configuration, and
// has to find out alone in what.
func TestDifferencesAreNamed(t *testing.T) {
	many := func(last string) *StaticConsumerGroupConfig {
		return &StaticConsumerGroupConfig{MaxMembers: 2, Members: append(slices.Repeat([]string{"a member"}, 100), last)}
	}
	for want, c := range map[string]struct {
		stored, wanted interface{ fixed() []setting }
	}{
		`max_members is 4, not 8`: {&StaticConsumerGroupConfig{MaxMembers: 4}, &StaticConsumerGroupConfig{MaxMembers: 8, Filters: []string{}, Members: []string{}}},
		`max_members is 4, not 8, filters is ["a.>"], not [], members is ["m1","m2"], not ["m2","m1"], member_mappings is [], not [{"member":"m","partitions":[]}]`: {
			&StaticConsumerGroupConfig{MaxMembers: 4, Filters: []string{"a.>"}, Members: []string{"m1", "m2"}},
			&StaticConsumerGroupConfig{MaxMembers: 8, Members: []string{"m2", "m1"}, MemberMappings: []MemberMapping{{Member: "m"}}},
		},
		`member_mappings is [{"member":"m","partitions":[]},{"member":"n","partitions":[1]}], not [{"member":"m","partitions":[]},{"member":"n","partitions":[0]}]`: {
			&StaticConsumerGroupConfig{MemberMappings: []MemberMapping{{Member: "m"}, {"n", []int{1}}}},
			&StaticConsumerGroupConfig{MemberMappings: []MemberMapping{{"m", []int{}}, {"n", []int{0}}}},
		},
		`max_members is 2, not 8, members differs`: {many("a"), func() *StaticConsumerGroupConfig { c := many("b"); c.MaxMembers = 8; return c }()},
		`partitioning_filters is [{"filter":"a.>","partitioning_wildcards":[]}], not [], max_buffered_msg is -1, not 0, max_buffered_bytes is 0, not 9223372036854775807`: {
			&ElasticConsumerGroupConfig{PartitioningFilters: []PartitioningFilter{{Filter: "a.>"}}, MaxBufferedMsgs: -1, Members: []string{"m"}},
			&ElasticConsumerGroupConfig{MaxBufferedBytes: 1<<63 - 1, MemberMappings: []MemberMapping{{Member: "m"}}},
		},
		`partitioning_filters is [{"filter":"a.*.*","partitioning_wildcards":[1,2]}], not [{"filter":"a.*.*","partitioning_wildcards":[2]}]`: {
			&ElasticConsumerGroupConfig{PartitioningFilters: []PartitioningFilter{{"a.*.*", []int{1, 2}}}},
			&ElasticConsumerGroupConfig{PartitioningFilters: []PartitioningFilter{{"a.*.*", []int{2}}}},
		},
	} {
		if got := otherConfig(c.stored.fixed(), c.wanted.fixed()).Error(); got != "with another configuration: "+want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
