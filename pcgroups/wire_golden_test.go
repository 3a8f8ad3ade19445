package pcgroups

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	oracle "github.com/synadia-io/orbit.go/pcgroups"
)

// The goldens in testdata/wire hold what the oracle stores, one value a file and
// a newline. They are recorded from the oracle's own types, never from ours: if
// one differs from what we write, we are wrong.
var update = flag.Bool("update", false, "record the goldens of the tests that are run")

const wireDir = "testdata/wire"

var staticWire = map[string]oracle.StaticConsumerGroupConfig{
	"static_no_members":       {MaxMembers: 2},
	"static_empty_lists":      {MaxMembers: 2, Filters: []string{}, Members: []string{}, MemberMappings: []oracle.MemberMapping{}},
	"static_members":          {MaxMembers: 2, Filters: []string{"foo.>"}, Members: []string{"m1", "m2"}},
	"static_members_as_given": {MaxMembers: 4, Members: []string{"m2", "m10", "m1", "m2"}},
	"static_several_filters":  {MaxMembers: 3, Filters: []string{"foo.*", "bar.*.>"}, Members: []string{"m1"}},
	"static_mappings":         {MaxMembers: 2, MemberMappings: []oracle.MemberMapping{{Member: "m1", Partitions: []int{0, 1}}}},
	"static_mappings_order":   {MaxMembers: 3, MemberMappings: []oracle.MemberMapping{{Member: "m2", Partitions: []int{2, 0}}, {Member: "m1", Partitions: []int{1}}}},
	"static_mapping_of_nothing": {MaxMembers: 1, MemberMappings: []oracle.MemberMapping{
		{Member: "m1", Partitions: []int{0}}, {Member: "null", Partitions: nil}, {Member: "empty", Partitions: []int{}}}},
	"static_escaped":      {MaxMembers: 2, Filters: []string{"a<b.&.>"}, Members: []string{"<&>", `"\`, "tab\t", "nul\x00", "line\u2028", "日本"}},
	"static_most_members": {MaxMembers: math.MaxInt32, Members: []string{"m1"}},
}

var elasticWire = map[string]oracle.ElasticConsumerGroupConfig{
	"elastic_filters_null":     {MaxMembers: 6},
	"elastic_filters_empty":    {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{}},
	"elastic_wildcards_null":   {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.>"}}},
	"elastic_wildcards_empty":  {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.>", PartitioningWildcards: []int{}}}},
	"elastic_wildcards":        {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.*.*.>", PartitioningWildcards: []int{2, 1}}}},
	"elastic_several_filters":  {MaxMembers: 7, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.*", PartitioningWildcards: []int{1}}, {Filter: "bar.>", PartitioningWildcards: []int{}}, {Filter: "*.baz"}}},
	"elastic_unlimited":        {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.*.>", PartitioningWildcards: []int{1}}}, MaxBufferedMsgs: -1, MaxBufferedBytes: -1, Members: []string{"m1"}},
	"elastic_no_limits":        {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.*", PartitioningWildcards: []int{1}}}, Members: []string{"m1"}},
	"elastic_limits":           {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.*", PartitioningWildcards: []int{1}}}, MaxBufferedMsgs: 20000, MaxBufferedBytes: math.MaxInt64},
	"elastic_one_limit":        {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo.*", PartitioningWildcards: []int{1}}}, MaxBufferedBytes: 1 << 20},
	"elastic_members":          {MaxMembers: 2, Members: []string{"m1", "m2", "m3"}},
	"elastic_mappings":         {MaxMembers: 3, MemberMappings: []oracle.MemberMapping{{Member: "m2", Partitions: []int{2, 0}}, {Member: "m1", Partitions: []int{1}}}},
	"elastic_emptied_members":  {MaxMembers: 2, Members: []string{}, MemberMappings: []oracle.MemberMapping{}},
	"elastic_escaped":          {MaxMembers: 2, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "<&.*", PartitioningWildcards: []int{1}}}, Members: []string{"<&>", "日本", "line\u2029"}},
	"elastic_filter_unchecked": {MaxMembers: 6, PartitioningFilters: []oracle.PartitioningFilter{{Filter: "foo"}}}, // stored values need not be valid
}

// Field by field, so that a nil slice stays nil.
func ourStatic(c oracle.StaticConsumerGroupConfig) *StaticConsumerGroupConfig {
	return &StaticConsumerGroupConfig{MaxMembers: c.MaxMembers, Filters: c.Filters, Members: c.Members, MemberMappings: ourMappings(c.MemberMappings)}
}

func ourElastic(c oracle.ElasticConsumerGroupConfig) *ElasticConsumerGroupConfig {
	out := &ElasticConsumerGroupConfig{
		MaxMembers: c.MaxMembers, MaxBufferedMsgs: c.MaxBufferedMsgs, MaxBufferedBytes: c.MaxBufferedBytes,
		Members: c.Members, MemberMappings: ourMappings(c.MemberMappings),
	}
	if c.PartitioningFilters != nil {
		out.PartitioningFilters = make([]PartitioningFilter, len(c.PartitioningFilters))
	}
	for i, f := range c.PartitioningFilters {
		out.PartitioningFilters[i] = PartitioningFilter(f)
	}
	return out
}

func ourMappings(in []oracle.MemberMapping) []MemberMapping {
	if in == nil {
		return nil
	}
	out := make([]MemberMapping, len(in))
	for i, m := range in {
		out[i] = MemberMapping(m)
	}
	return out
}

// wireCase is one value: what the oracle writes, what we write for the same
// input, and empty configurations of both to read it into.
type wireCase struct {
	theirs, ours         any
	readTheirs, readOurs func() any
}

func wireCases() map[string]wireCase {
	cases := map[string]wireCase{}
	for name, c := range staticWire {
		cases[name] = wireCase{c, ourStatic(c),
			func() any { return new(oracle.StaticConsumerGroupConfig) }, func() any { return new(StaticConsumerGroupConfig) }}
	}
	for name, c := range elasticWire {
		cases[name] = wireCase{c, ourElastic(c),
			func() any { return new(oracle.ElasticConsumerGroupConfig) }, func() any { return new(ElasticConsumerGroupConfig) }}
	}
	return cases
}

func wireFile(name string) string { return filepath.Join(wireDir, name+".json") }

func readWire(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(wireFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b, []byte("\n"))
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A running member of the oracle ends when a stored null becomes an empty list,
// a -1 disappears or the reverse, and a group created by us can not be created
// again by a program of the oracle unless the two write the same. So what we
// write is the oracle's bytes, for every combination of nil, empty and limits.
func TestStoredBytesAreTheOracles(t *testing.T) {
	for name, c := range wireCases() {
		t.Run(name, func(t *testing.T) {
			theirs := mustJSON(t, c.theirs)
			if *update {
				if err := os.WriteFile(wireFile(name), append(theirs, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden := readWire(t, name)
			if !bytes.Equal(theirs, golden) {
				t.Errorf("the oracle writes\n%s, the golden is\n%s", theirs, golden)
			}
			if got := marshal(c.ours); !bytes.Equal(got, golden) {
				t.Errorf("wrote\n%s, the golden is\n%s", got, golden)
			}
		})
	}
}

// A member that reads a value differently from the oracle joins with other
// filters; one that reads null as an empty list writes it back as one. Reading
// and writing again must lose nothing, however often it is done.
func TestStoredBytesAreReadAsTheOracleReadsThem(t *testing.T) {
	for name, c := range wireCases() {
		t.Run(name, func(t *testing.T) {
			golden := readWire(t, name)
			theirs, ours, again := c.readTheirs(), c.readOurs(), c.readOurs()
			if err := json.Unmarshal(golden, theirs); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(golden, ours); err != nil {
				t.Fatal(err)
			}
			if got := marshal(ours); !bytes.Equal(got, golden) {
				t.Errorf("read and written again\n%s became\n%s", golden, got)
			}
			var want any
			switch theirs := theirs.(type) {
			case *oracle.StaticConsumerGroupConfig:
				want = ourStatic(*theirs)
			case *oracle.ElasticConsumerGroupConfig:
				want = ourElastic(*theirs)
			}
			if !reflect.DeepEqual(ours, want) {
				t.Errorf("read %+v, the oracle reads %+v", ours, want)
			}
			if err := json.Unmarshal(marshal(ours), again); err != nil || !reflect.DeepEqual(ours, again) {
				t.Errorf("read again %+v (%v), first %+v", again, err, ours)
			}
		})
	}
}

// A golden that no case reads would be taken for a promise that nothing keeps.
func TestEveryWireGoldenIsUsed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	cases := wireCases()
	for _, f := range files {
		if _, used := cases[strings.TrimSuffix(filepath.Base(f), ".json")]; !used {
			t.Errorf("%s belongs to no case", f)
		}
	}
	if len(files) != len(cases) {
		t.Errorf("%d goldens for %d cases; record them with -update", len(files), len(cases))
	}
}
