package conformance

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The published vectors must be what the reference says today, or ports would be
// held to something else.
func TestVectorsAreTheReferences(t *testing.T) {
	lab, err := EmbeddedLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := Vectors(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	published, err := filepath.Glob("vectors/*.json")
	if err != nil || len(published) != len(files) {
		t.Errorf("%d files are published, %d are generated (%v)", len(published), len(files), err)
	}
	for name, f := range files {
		want, err := EncodeVectors(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("vectors", name))
		if err != nil {
			t.Error(err)
		} else if string(got) != string(want) {
			t.Errorf("%s is not what the reference gives; generate it with go run ./conformance/cmd/vectors", name)
		}
	}
}

// readVectors reads the cases of a published file.
func readVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Format int
		Cases  []T
	}
	if err := json.Unmarshal(text, &f); err != nil || f.Format != VectorFormat || len(f.Cases) == 0 {
		t.Fatalf("%s: format %d, %d cases, %v", name, f.Format, len(f.Cases), err)
	}
	return f.Cases
}

func (c VectorConfig) static() pcgroups.StaticConsumerGroupConfig {
	return pcgroups.StaticConsumerGroupConfig{MaxMembers: c.MaxMembers, Filters: c.Filters, Members: c.Members, MemberMappings: ours{}.mappings(c.Mappings)}
}

func (c VectorConfig) elastic() pcgroups.ElasticConsumerGroupConfig {
	return pcgroups.ElasticConsumerGroupConfig{MaxMembers: c.MaxMembers, PartitioningFilters: ours{}.filters(c.Partition),
		MaxBufferedMsgs: c.Msgs, MaxBufferedBytes: c.Bytes, Members: c.Members, MemberMappings: ours{}.mappings(c.Mappings)}
}

func TestOurBytes(t *testing.T) {
	for _, v := range readVectors[BytesVector](t, "config_bytes.json") {
		got := mustJSON(v.Config.elastic())
		if v.Config.Kind == Static {
			got = mustJSON(v.Config.static())
		}
		if got != v.Bytes {
			t.Errorf("writes %s, not %s", got, v.Bytes)
		}
	}
}

func TestOurAssignments(t *testing.T) {
	for _, v := range readVectors[AssignmentVector](t, "assignment.json") {
		got := pcgroups.Assignments(v.MaxMembers, v.Members, ours{}.mappings(v.Mappings))
		if len(got) != len(v.Assignment) {
			t.Errorf("%d members of %d: %v, not %v", len(v.Members), v.MaxMembers, got, v.Assignment)
		}
		for m, parts := range v.Assignment {
			if !slices.Equal(got[m], parts) {
				t.Errorf("%s of %v in %d: %v, not %v", m, v.Members, v.MaxMembers, got[m], parts)
			}
		}
	}
}

func TestOurFilters(t *testing.T) {
	for _, v := range readVectors[FiltersVector](t, "filters.json") {
		got := pcgroups.ElasticGetPartitionFilters(v.Config.elastic(), v.Member)
		if v.Config.Kind == Static {
			got = pcgroups.StaticGetPartitionFilters(v.Config.static(), v.Member)
		}
		if !slices.Equal(got, v.Distinct) {
			t.Errorf("%s in %+v: %v, not %v", v.Member, v.Config, got, v.Distinct)
		}
	}
}

func TestOurTransforms(t *testing.T) {
	for _, v := range readVectors[TransformVector](t, "transforms.json") {
		filter := v.Filter
		if filter == "" {
			filter = ">" // no filter at all
		}
		got := pcgroups.PartitioningTransformDestination(pcgroups.PartitioningFilter{Filter: filter, PartitioningWildcards: v.Wildcards}, v.MaxMembers)
		if got != v.Destination || filter != v.Source {
			t.Errorf("%+v: %s", v, got)
		}
	}
}

func TestOurValidation(t *testing.T) {
	for _, v := range readVectors[ValidVector](t, "validation.json") {
		var config interface{ Validate() error } = &pcgroups.ElasticConsumerGroupConfig{}
		if v.Kind == Static {
			config = &pcgroups.StaticConsumerGroupConfig{}
		}
		if err := json.Unmarshal([]byte(v.Value), config); err != nil {
			t.Fatal(err)
		}
		err := config.Validate()
		if (err == nil) != v.Accept || err != nil && !errors.Is(err, pcgroups.ErrInvalidConfig) {
			t.Errorf("%s %s: %v; accept is %v (%s)", v.Kind, v.Value, err, v.Accept, v.Reason)
		}
	}
}

func TestOurTimers(t *testing.T) {
	lab, err := EmbeddedLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range readVectors[TimersVector](t, "timers.json") {
		got, err := timersOf(t.Context(), lab, Ours(), v.Kind, v.Given)
		if err != nil {
			t.Fatal(err)
		}
		if got != v {
			t.Errorf("%+v, not %+v", got, v)
		}
	}
}

func TestOurHash(t *testing.T) {
	for _, v := range readVectors[HashVector](t, "partition_hash.json") {
		got, err := pcgroups.PartitionFor(v.Subject, v.Filter, v.Wildcards, v.MaxMembers)
		if err != nil || got != v.Partition {
			t.Errorf("%s by %s %v of %d: %d (%v), not %d", v.Subject, v.Filter, v.Wildcards, v.MaxMembers, got, err, v.Partition)
		}
	}
}
