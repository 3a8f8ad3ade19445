package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	oracle "github.com/synadia-io/orbit.go/pcgroups"
)

// VectorFormat is the version of the form of the vector files. It grows when a
// reader of the one before would fail or misread.
const VectorFormat = 1

// VectorFile is one file of vectors/: inputs, and what the reference (for
// hashes: the server) makes of them.
type VectorFile struct {
	Format int    `json:"format"`
	About  string `json:"about"`
	Source string `json:"source"`
	Cases  []any  `json:"cases"`
}

// VectorConfig is a configuration as the language-neutral input of a vector. It
// has the fields of both kinds; null and an empty list differ.
type VectorConfig struct {
	Kind       string               `json:"kind"`
	MaxMembers uint                 `json:"max_members"`
	Filters    []string             `json:"filters"`
	Partition  []PartitioningFilter `json:"partitioning_filters"`
	Msgs       int64                `json:"max_buffered_msg"`
	Bytes      int64                `json:"max_buffered_bytes"`
	Members    []string             `json:"members"`
	Mappings   []MemberMapping      `json:"member_mappings"`
}

// The cases of the vector files.
type (
	// BytesVector says how a configuration is stored.
	BytesVector struct {
		Config VectorConfig `json:"config"`
		Bytes  string       `json:"bytes"`
	}
	// AssignmentVector says which partitions each member has.
	AssignmentVector struct {
		MaxMembers uint             `json:"max_members"`
		Members    []string         `json:"members"`
		Mappings   []MemberMapping  `json:"member_mappings"`
		Assignment map[string][]int `json:"assignment"`
	}
	// FiltersVector says what a member's consumer filters by. Filters is what the
	// reference computes; if it repeats itself the server refuses it (10138), and
	// Distinct is what to ask for.
	FiltersVector struct {
		Config   VectorConfig `json:"config"`
		Member   string       `json:"member"`
		Filters  []string     `json:"filters"`
		Distinct []string     `json:"distinct"`
	}
	// TransformVector says how the work-queue stream renames a message.
	TransformVector struct {
		Filter      string `json:"filter"`
		Wildcards   []int  `json:"partitioning_wildcards"`
		MaxMembers  uint   `json:"max_members"`
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}
	// ValidVector says whether a stored configuration is accepted.
	ValidVector struct {
		Kind   string `json:"kind"`
		Value  string `json:"value"` // as stored
		Accept bool   `json:"accept"`
		Reason string `json:"reason,omitempty"` // the reference's words
	}
	// TimersVector says which times follow from an AckWait. All are nanoseconds.
	TimersVector struct {
		Kind              string        `json:"kind"`
		Given             time.Duration `json:"given"` // 0: none
		AckWait           time.Duration `json:"ack_wait"`
		PriorityTimeout   time.Duration `json:"priority_timeout"`
		InactiveThreshold time.Duration `json:"inactive_threshold"` // 0: not set
		Expires           time.Duration `json:"expires"`            // of a pull
		Heartbeat         time.Duration `json:"idle_heartbeat"`     // of a pull
	}
	// HashVector says which partition a subject falls into.
	HashVector struct {
		Subject    string `json:"subject"`
		Filter     string `json:"filter"`
		Wildcards  []int  `json:"partitioning_wildcards"`
		MaxMembers uint   `json:"max_members"`
		Partition  int    `json:"partition"`
	}
)

const fromOracle = "github.com/synadia-io/orbit.go/pcgroups " + OracleVersion

// Vectors generates all vector files, by name, from the reference and the server.
func Vectors(ctx context.Context, lab *Lab) (map[string]VectorFile, error) {
	out := map[string]VectorFile{
		"config_bytes.json": bytesVectors(),
		"assignment.json":   assignmentVectors(),
		"filters.json":      filtersVectors(),
	}
	for name, generate := range map[string]func(context.Context, *Lab) (VectorFile, error){
		"transforms.json":     transformVectors,
		"validation.json":     validVectors,
		"timers.json":         func(ctx context.Context, lab *Lab) (VectorFile, error) { return timersVectors(ctx, lab, Oracle()) },
		"partition_hash.json": hashVectors,
	} {
		file, err := generate(ctx, lab)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = file
	}
	return out, nil
}

// EncodeVectors is how a vector file is written.
func EncodeVectors(f VectorFile) ([]byte, error) {
	b, err := json.MarshalIndent(f, "", "  ")
	return append(b, '\n'), err
}

func bytesVectors() VectorFile {
	f := VectorFile{Format: VectorFormat, Source: fromOracle,
		About: "The value that a group's configuration is stored as. Other spacing and escaping of the same JSON is harmless; another nil, empty list, limit or order is not."}
	for _, c := range vectorConfigs() {
		f.Cases = append(f.Cases, BytesVector{c, mustJSON(c.oracle())})
	}
	return f
}

// oracle is the configuration as the reference's own type.
func (c VectorConfig) oracle() any {
	if c.Kind == Static {
		return oracle.StaticConsumerGroupConfig{MaxMembers: c.MaxMembers, Filters: c.Filters, Members: c.Members, MemberMappings: orbit{}.mappings(c.Mappings)}
	}
	return oracle.ElasticConsumerGroupConfig{MaxMembers: c.MaxMembers, PartitioningFilters: orbit{}.filters(c.Partition),
		MaxBufferedMsgs: c.Msgs, MaxBufferedBytes: c.Bytes, Members: c.Members, MemberMappings: orbit{}.mappings(c.Mappings)}
}

func assignmentVectors() VectorFile {
	f := VectorFile{Format: VectorFormat, Source: fromOracle,
		About: "The partitions of each member: members are deduplicated, sorted bytewise and capped; each gets a contiguous run, and the remainder is dealt from the first on. Mappings are taken as they are."}
	for _, v := range assignmentInputs() {
		v.Assignment = map[string][]int{}
		for _, m := range append(slices.Clone(v.Members), mappedMembers(v.Mappings)...) {
			v.Assignment[m] = []int{}
			for _, filter := range oracle.GeneratePartitionFilters(slices.Clone(v.Members), v.MaxMembers, orbit{}.mappings(v.Mappings), m, ">") {
				var n int
				if _, err := fmt.Sscanf(filter, "%d.>", &n); err == nil {
					v.Assignment[m] = append(v.Assignment[m], n)
				}
			}
		}
		f.Cases = append(f.Cases, v)
	}
	return f
}

func mappedMembers(m []MemberMapping) []string {
	var out []string
	for _, e := range m {
		out = append(out, e.Member)
	}
	return out
}

func filtersVectors() VectorFile {
	f := VectorFile{Format: VectorFormat, Source: fromOracle,
		About: "The filter subjects of a member's consumer, in the order in which they are sent. Send distinct; where filters has repetitions the server refuses it."}
	for _, c := range vectorConfigs() {
		for _, m := range slices.Compact(append(slices.Clone(c.Members), append(mappedMembers(c.Mappings), "stranger")...)) {
			filters := c.oracleFilters(m)
			f.Cases = append(f.Cases, FiltersVector{c, m, filters, distinctNames(filters)})
		}
	}
	return f
}

// oracleFilters are the filters of a member. For static groups the reference
// joins those of each filter where it joins the group; nothing exported does.
func (c VectorConfig) oracleFilters(member string) []string {
	out := []string{}
	if c.Kind == Elastic {
		return append(out, oracle.ElasticGetPartitionFilters(c.oracle().(oracle.ElasticConsumerGroupConfig), member)...)
	}
	filters := c.Filters
	if len(filters) == 0 {
		filters = []string{">"}
	}
	for _, filter := range filters {
		out = append(out, oracle.GeneratePartitionFilters(c.Members, c.MaxMembers, orbit{}.mappings(c.Mappings), member, filter)...)
	}
	return out
}

func distinctNames(in []string) []string {
	out := []string{}
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
