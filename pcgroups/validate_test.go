package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	oracle "github.com/synadia-io/orbit.go/pcgroups"
	"pgregory.net/rapid"
)

// twinValidateElastic and twinValidateStatic are the oracle's documented rules,
// one after the other, with no thought given to speed or words.
func twinValidateElastic(c oracle.ElasticConsumerGroupConfig) error {
	if c.MaxMembers == 0 {
		return errors.New("no members")
	}
	for _, f := range c.PartitioningFilters {
		if f.Filter == "" {
			return errors.New("empty filter")
		}
		tokens := strings.Split(f.Filter, ".")
		stars := 0
		for _, token := range tokens {
			if token == "*" {
				stars++
			}
		}
		if stars == 0 && tokens[len(tokens)-1] != ">" {
			return errors.New("no wildcard")
		}
		if len(f.PartitioningWildcards) > stars {
			return errors.New("too many wildcards")
		}
		for i, w := range f.PartitioningWildcards {
			if slices.Contains(f.PartitioningWildcards[:i], w) {
				return errors.New("repeated wildcard")
			}
			if w < 1 || w > stars {
				return errors.New("no such wildcard")
			}
		}
	}
	return twinValidateMembership(c.MaxMembers, c.Members, c.MemberMappings)
}

func twinValidateStatic(c oracle.StaticConsumerGroupConfig) error {
	if c.MaxMembers == 0 {
		return errors.New("no members")
	}
	return twinValidateMembership(c.MaxMembers, c.Members, c.MemberMappings)
}

func twinValidateMembership(n uint, members []string, mappings []oracle.MemberMapping) error {
	if len(mappings) == 0 {
		return nil
	}
	if len(members) > 0 {
		return errors.New("both")
	}
	if len(mappings) > int(n) { // of a huge n the oracle makes a negative number, which refuses too
		return errors.New("too many mappings")
	}
	var names []string
	var taken []int
	for _, m := range mappings {
		if slices.Contains(names, m.Member) {
			return errors.New("repeated member")
		}
		names = append(names, m.Member)
		for _, p := range m.Partitions {
			if slices.Contains(taken, p) {
				return errors.New("repeated partition")
			}
			if p < 0 || p >= int(n) {
				return errors.New("no such partition")
			}
			taken = append(taken, p)
		}
	}
	if len(taken) != int(n) {
		return errors.New("partitions without a member")
	}
	return nil
}

// getsPastValidation runs a create without a connection. Ours and the oracle's
// validate before they use it, so they get as far as a nil dereference exactly
// with the configurations that they accept.
func getsPastValidation(create func() error) (ok bool) {
	defer func() { ok = recover() != nil }()
	_ = create()
	return false
}

func oracleAcceptsStatic(c oracle.StaticConsumerGroupConfig) bool {
	return getsPastValidation(func() error {
		_, err := oracle.CreateStatic(context.Background(), nil, "S", "g", c.MaxMembers, c.Filters, c.Members, c.MemberMappings)
		return err
	})
}

func oracleAcceptsElastic(c oracle.ElasticConsumerGroupConfig) bool {
	return getsPastValidation(func() error {
		_, err := oracle.CreateElastic(context.Background(), nil, "S", "g", c.MaxMembers, c.PartitioningFilters, c.MaxBufferedMsgs, c.MaxBufferedBytes)
		return err
	})
}

// A configuration that one side stores and the other refuses to read stops half
// of a mixed group's members, and reading must never be stricter than the oracle
// or groups that exist can not be opened, imported or deleted.
func TestVerdictsEqualTheOracles(t *testing.T) {
	var accepted, refused int
	rapid.Check(t, func(t *rapid.T) {
		s, e := anyStatic.Draw(t, "static"), anyElastic.Draw(t, "elastic")
		if theirs, twin := oracleAcceptsStatic(s), twinValidateStatic(s); theirs != (twin == nil) {
			t.Fatalf("%+v\nthe oracle accepts it: %v, its twin says %v", s, theirs, twin)
		}
		if ours, twin := ourStatic(s).Validate(), twinValidateStatic(s); (ours == nil) != (twin == nil) {
			t.Fatalf("%+v\ngot %v, the oracle %v", s, ours, twin)
		}
		alone := e
		alone.Members, alone.MemberMappings = nil, nil // the oracle's create takes none
		if theirs, twin := oracleAcceptsElastic(alone), twinValidateElastic(alone); theirs != (twin == nil) {
			t.Fatalf("%+v\nthe oracle accepts it: %v, its twin says %v", alone, theirs, twin)
		}
		ours, twin := ourElastic(e).Validate(), twinValidateElastic(e)
		if (ours == nil) != (twin == nil) {
			t.Fatalf("%+v\ngot %v, the oracle %v", e, ours, twin)
		}
		var field *ConfigError
		if ours == nil {
			accepted++
		} else if refused++; !errors.As(ours, &field) || field.Field == "" || field.Reason == "" {
			t.Fatalf("refused without telling what: %v", ours)
		}
	})
	// Otherwise the generator is at fault, and the test proves nothing.
	if accepted < 10 || refused < 10 {
		t.Errorf("%d configurations accepted, %d refused", accepted, refused)
	}
}

// One line for each rule of a stored configuration: what it prevents, and the
// words that the user sees, as the message is all there is to go by.
func TestStoredConfigurationRules(t *testing.T) {
	pf := func(filter string, wildcards ...int) ElasticConsumerGroupConfig {
		return ElasticConsumerGroupConfig{MaxMembers: 4, PartitioningFilters: []PartitioningFilter{{"ok.*", nil}, {filter, wildcards}}}
	}
	mapped := func(n uint, m ...MemberMapping) ElasticConsumerGroupConfig {
		return ElasticConsumerGroupConfig{MaxMembers: n, MemberMappings: m}
	}
	both := mapped(1, MemberMapping{"m1", []int{0}})
	both.Members = []string{"m1"}
	for _, c := range []struct {
		prevents string
		config   ElasticConsumerGroupConfig
		want     string
	}{
		{"a division by zero partitions, which crashes a 2.11 server", ElasticConsumerGroupConfig{}, `max_members: must be at least 1, as it is the number of partitions`},
		{"a source without a subject", pf(""), `partitioning_filters: a filter must not be empty`},
		{"all messages in one partition", pf("foo.bar"), `partitioning_filters: "foo.bar" needs at least one * wildcard or must end in >`},
		{"a > taken for the end of the filter", pf("foo.>.bar"), `partitioning_filters: "foo.>.bar" needs at least one * wildcard or must end in >`},
		{"a star inside a token taken for a wildcard", pf("foo.b*"), `partitioning_filters: "foo.b*" needs at least one * wildcard or must end in >`},
		{"a key that the subject does not hold", pf("foo.*", 1, 2), `partitioning_wildcards: 2 given for "foo.*", which has 1 * wildcards`},
		{"a key on >, which the server refuses", pf("foo.>", 1), `partitioning_wildcards: 1 given for "foo.>", which has 0 * wildcards`},
		{"a token hashed twice", pf("foo.*.*", 2, 2), `partitioning_wildcards: 2 is given twice for "foo.*.*"`},
		{"a key on the first token, counted from 0", pf("foo.*", 0), `partitioning_wildcards: 0 is out of range for "foo.*": count its * wildcards from 1 to 1`},
		{"a negative index", pf("foo.*", -1), `partitioning_wildcards: -1 is out of range for "foo.*": count its * wildcards from 1 to 1`},
		{"an index past the wildcards", pf("foo.*.*", 1, 3), `partitioning_wildcards: 3 is out of range for "foo.*.*": count its * wildcards from 1 to 2`},
		{"mappings that are silently ignored", both, `members: give either members or member_mappings, not both`},
		{"members that could own nothing", mapped(1, MemberMapping{"m1", []int{0}}, MemberMapping{"m2", nil}), `member_mappings: 2 members for 1 partitions; there can be at most one member for each partition`},
		{"half of a member's partitions lost", mapped(2, MemberMapping{"m1", []int{0}}, MemberMapping{"m1", []int{1}}), `member_mappings: member "m1" is mapped twice`},
		{"two members with one partition", mapped(2, MemberMapping{"m1", []int{0, 1}}, MemberMapping{"m2", []int{1}}), `member_mappings: partition 1 is given to "m1" and to "m2"`},
		{"a filter repeated in one consumer", mapped(2, MemberMapping{"m1", []int{1, 1}}), `member_mappings: partition 1 is given to "m1" and to "m1"`},
		{"a partition that no message has", mapped(2, MemberMapping{"m1", []int{0, 1, 2}}), `member_mappings: partition 2 of member "m1" is out of range: 0 to 1`},
		{"a negative partition", mapped(2, MemberMapping{"m1", []int{-1, 1}}), `member_mappings: partition -1 of member "m1" is out of range: 0 to 1`},
		{"messages that nobody consumes", mapped(4, MemberMapping{"m1", []int{3, 0}}, MemberMapping{"m2", []int{1}}), `member_mappings: partition 2 belongs to no member; all 4 must be mapped`},
	} {
		t.Run(c.prevents, func(t *testing.T) {
			err := c.config.Validate()
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if !errors.Is(err, ErrInvalidConfig) {
				t.Errorf("%v does not match ErrInvalidConfig", err)
			}
			if len(c.config.PartitioningFilters) > 0 {
				return
			}
			s := StaticConsumerGroupConfig{MaxMembers: c.config.MaxMembers, Members: c.config.Members, MemberMappings: c.config.MemberMappings}
			if err := s.Validate(); err == nil || err.Error() != c.want {
				t.Errorf("static: got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// Reading is tolerant of members, as the oracle is: groups with duplicate members
// or more than there are partitions exist, and must stay administrable.
func TestTolerantMembers(t *testing.T) {
	e := ElasticConsumerGroupConfig{MaxMembers: 1, Members: []string{"m2", "m1", "m1", "", "a.b"}}
	s := StaticConsumerGroupConfig{MaxMembers: 1, Members: e.Members, Filters: []string{"foo", "foo", ""}}
	if err := errors.Join(e.Validate(), s.Validate()); err != nil {
		t.Error(err)
	}
}

// What could be stored but never consumed is refused before anything is written:
// the oracle writes the configuration, fails on the stream and leaves the key
// behind. The connection is nil here, so that a request would crash the test.
func TestCreateIsStricterThanTheOracle(t *testing.T) {
	ctx := t.Context()
	star := []PartitioningFilter{{"foo.*", []int{1}}}
	elastic := func(n uint, filters []PartitioningFilter, msgs, bytes int64, opts ...CreateOption) func() error {
		return func() error {
			_, err := CreateElastic(ctx, nil, "S", "g", n, filters, msgs, bytes, opts...)
			return err
		}
	}
	static := func(n uint, filters, members []string, opts ...CreateOption) func() error {
		return func() error {
			_, err := CreateStatic(ctx, nil, "S", "g", n, filters, members, nil, opts...)
			return err
		}
	}
	pfs := func(filters ...string) (out []PartitioningFilter) {
		for _, f := range filters {
			out = append(out, PartitioningFilter{Filter: f})
		}
		return out
	}
	for _, c := range []struct {
		prevents string
		create   func() error
		want     string
	}{
		{"a modulus that the server refuses or truncates", elastic(1<<31, star, 0, 0), `elastic group S/g: max_members: 2147483648 is more than the server can partition by (2147483647)`},
		{"a static group nobody can fill", static(1<<31, nil, nil), `static group S/g: max_members: 2147483648 is more than the server can partition by (2147483647)`},
		{"zero partitions", static(0, nil, nil), `static group S/g: max_members: must be at least 1, as it is the number of partitions`},
		{"error 10147 with an orphaned key", elastic(2, pfs("foo.*", "foo.bar.>", "foo.>"), 0, 0), `elastic group S/g: partitioning_filters: "foo.*" and "foo.>" overlap: a message could match both, which the server refuses`},
		{"a filter given twice", elastic(2, append(pfs("foo.*"), star...), 0, 0), `elastic group S/g: partitioning_filters: "foo.*" and "foo.*" overlap: a message could match both, which the server refuses`},
		{"error 10138 at every join", static(2, []string{"a", "b.c", "b.*"}, []string{"m1"}), `static group S/g: filters: "b.c" and "b.*" overlap: a message could match both, which the server refuses`},
		{"limits that mean something else to each side", elastic(2, star, -2, 0), `elastic group S/g: max_buffered_msg: -2 is not a number of messages; use -1 for no limit`},
		{"negative bytes", elastic(2, star, 0, -2), `elastic group S/g: max_buffered_bytes: -2 is not a number of bytes; use -1 for no limit`},
		{"an empty token", elastic(2, pfs("foo..*"), 0, 0), `elastic group S/g: partitioning_filters: "foo..*" has an empty token`},
		{"a space in a filter", elastic(2, pfs("foo. .*"), 0, 0), `elastic group S/g: partitioning_filters: "foo. .*" contains a space`},
		{"a > in the middle", elastic(2, pfs("foo.>.*"), 0, 0), `elastic group S/g: partitioning_filters: "foo.>.*" has > before its last token`},
		{"messages stored under another subject", elastic(2, pfs("$1.*"), 0, 0), `elastic group S/g: partitioning_filters: "$1.*" contains "$1", which the server's subject transforms take for a reference to a wildcard`},
		{"a transform the server refuses", elastic(2, pfs("{{x}}.*"), 0, 0), `elastic group S/g: partitioning_filters: "{{x}}.*" contains "{{x}}", which the server's subject transforms take for a reference to a wildcard`},
		{"an empty static filter", static(2, []string{"foo", ""}, nil), `static group S/g: filters: a filter must not be empty`},
		{"a static filter with an empty token", static(2, []string{"foo."}, nil), `static group S/g: filters: "foo." has an empty token`},
		{"a member that can have no consumer", static(2, nil, []string{"m1", "m.2"}), `static group S/g: member: "m.2" contains a dot, which a consumer name can not hold; use letters, digits, '-' and '_'`},
		{"the same as an option", elastic(2, star, 0, 0, WithMembers("pod 0")), `elastic group S/g: member: "pod 0" contains a space, which a consumer name can not hold; use letters, digits, '-' and '_'`},
		{"a mapped member that can have no consumer", elastic(1, star, 0, 0, WithMemberMappings(MemberMapping{"*", []int{0}})), `elastic group S/g: member: "*" contains a wildcard, which a consumer name can not hold; use letters, digits, '-' and '_'`},
		{"mappings of fewer partitions", elastic(2, star, 0, 0, WithMemberMappings(MemberMapping{"m1", []int{0}})), `elastic group S/g: member_mappings: partition 1 belongs to no member; all 2 must be mapped`},
		{"members and mappings", elastic(1, star, 0, 0, WithMembers("m1"), WithMemberMappings(MemberMapping{"m1", []int{0}})), `elastic group S/g: members: give either members or member_mappings, not both`},
		{"options that a static group would ignore", static(1, nil, nil, WithMembers("m1")), `static group S/g: members: give a static group's members as arguments, not as options`},
	} {
		t.Run(c.prevents, func(t *testing.T) {
			err := c.create()
			if want := "pcgroups: create " + c.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			var wrapped *Error
			var field *ConfigError
			if !errors.As(err, &wrapped) || !errors.As(err, &field) || !errors.Is(err, ErrInvalidConfig) {
				t.Errorf("%v lacks *Error, *ConfigError or ErrInvalidConfig", err)
			}
		})
	}
}

// The strict checks must not refuse what works, or a group of the oracle's could
// not be declared with our tools.
func TestCreateAcceptsWhatWorks(t *testing.T) {
	for _, c := range []ElasticConsumerGroupConfig{
		{MaxMembers: maxPartitions},
		{MaxMembers: 1, PartitioningFilters: []PartitioningFilter{{"foo.*", []int{1}}, {"foo.*.*", []int{2, 1}}, {"bar.>", nil}}},
		{MaxMembers: 1, PartitioningFilters: []PartitioningFilter{{">", []int{}}}, MaxBufferedMsgs: -1, MaxBufferedBytes: -1},
		{MaxMembers: 1, PartitioningFilters: []PartitioningFilter{{"$KV.b.>", nil}, {"*.b*.>", []int{1}}}, Members: []string{"m1", "m2", "m2", "é_-1"}},
		{MaxMembers: 2, MemberMappings: []MemberMapping{{"m1", []int{1, 0}}, {"idle", nil}}},
	} {
		if err := validateNewElastic(elasticFlavour, "g", &c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		s := StaticConsumerGroupConfig{MaxMembers: c.MaxMembers, Filters: []string{"foo", "foo.bar", "foo.*.x"}, Members: c.Members, MemberMappings: c.MemberMappings}
		if err := validateNewStatic(staticFlavour, "g", &s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// The server compares filters by its own rules. An overlap that we miss leaves an
// orphaned key; one that we imagine refuses a group that works. So both the
// subject check and the overlap are held against the server's functions.
func TestFilterRulesEqualTheServers(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "*", ">", "a", "*", "", " ", "*a", "é", "a b", "\t", "a\r", "\f", "$1", "\u00a0"})
	filter := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(token, 1, 4).Draw(t, "tokens"), ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := filter.Draw(t, "a"), filter.Draw(t, "b")
		for _, f := range []string{a, b, ""} {
			if got, want := validateSubject("filters", f), server.IsValidSubject(f); (got == nil) != want {
				t.Fatalf("%q: %v, the server accepts it: %v", f, got, want)
			}
		}
		if !server.IsValidSubject(a) || !server.IsValidSubject(b) {
			return
		}
		if got, want := overlap(a, b), server.SubjectsCollide(a, b); got != want || overlap(b, a) != want {
			t.Fatalf("%q and %q: overlap %v, the server says %v", a, b, got, want)
		}
	})
}

// A huge count must neither hang the check for unmapped partitions nor wrap
// around to a small number.
func TestHugePartitionCounts(t *testing.T) {
	for _, n := range []uint{1 << 31, 1 << 62, 1 << 63, ^uint(0)} {
		c := ElasticConsumerGroupConfig{MaxMembers: n, MemberMappings: []MemberMapping{{"m1", []int{0, 1}}}}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("partition 2 belongs to no member; all %d", n)) {
			t.Errorf("%d: %v", n, err)
		}
		if err := validateNewMaxMembers(n); err == nil {
			t.Errorf("%d partitions are allowed", n)
		}
	}
}
