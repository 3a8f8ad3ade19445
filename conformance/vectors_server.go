package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"
)

// transformVectors are read from the streams that the reference creates, as the
// function that makes them is not exported.
func transformVectors(ctx context.Context, lab *Lab) (VectorFile, error) {
	f := VectorFile{Format: VectorFormat, Source: fromOracle,
		About: "The subject transform of the source of an elastic group's work-queue stream. Without any filter the source is > and the whole subject is the key."}
	inputs := []TransformVector{
		{Filter: "orders.*", Wildcards: []int{1}, MaxMembers: 1}, {Filter: "orders.*", Wildcards: []int{1}, MaxMembers: 10},
		{Filter: "orders.*.*", Wildcards: []int{2, 1}, MaxMembers: 6}, {Filter: "orders.*.*", Wildcards: []int{2}, MaxMembers: 6},
		{Filter: "*.orders.*.>", Wildcards: []int{1, 2}, MaxMembers: 6}, {Filter: "orders.*", MaxMembers: 6},
		{Filter: "orders.>", Wildcards: []int{}, MaxMembers: 6}, {Filter: ">", Wildcards: []int{}, MaxMembers: 6}, {MaxMembers: 6},
	}
	b, err := lab.bench(ctx, 1)
	if err != nil {
		return f, err
	}
	defer b.close()
	if _, err := b.js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{"origin.>"}}); err != nil {
		return f, err
	}
	for i, v := range inputs {
		var filters []oracle.PartitioningFilter
		if v.Filter != "" {
			filters = []oracle.PartitioningFilter{{Filter: v.Filter, PartitioningWildcards: v.Wildcards}}
		}
		name := fmt.Sprintf("g%d", i)
		if _, err := oracle.CreateElastic(ctx, b.js, stream, name, v.MaxMembers, filters, -1, -1); err != nil {
			return f, err
		}
		s, err := b.js.Stream(ctx, stream+"-"+name)
		if err != nil {
			return f, err
		}
		t := s.CachedInfo().Config.Sources[0].SubjectTransforms[0]
		v.Source, v.Destination = t.Source, t.Destination
		f.Cases = append(f.Cases, v)
	}
	return f, nil
}

// validVectors have the reference read a stored value, which is when it judges.
func validVectors(ctx context.Context, lab *Lab) (VectorFile, error) {
	f := VectorFile{Format: VectorFormat, Source: fromOracle,
		About: "Whether a stored configuration is accepted when it is read. An implementation may be stricter when it creates one. The reason is for people; its words are no part of the contract."}
	b, err := lab.bench(ctx, 1)
	if err != nil {
		return f, err
	}
	defer b.close()
	for kind, bucket := range map[string]string{Static: staticBucket, Elastic: elasticBucket} {
		if _, err := b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket}); err != nil {
			return f, fmt.Errorf("%s: %w", kind, err)
		}
	}
	for _, v := range validInputs() {
		bucket := elasticBucket
		if v.Kind == Static {
			bucket = staticBucket
		}
		kv, err := b.js.KeyValue(ctx, bucket)
		if err == nil {
			_, err = kv.Put(ctx, stream+"."+group, []byte(v.Value))
		}
		if err != nil {
			return f, err
		}
		_, err = orbit{}.get(ctx, b.js, Request{Flavour: v.Kind, Stream: stream, Group: group})
		v.Accept = err == nil
		if err != nil {
			_, reason, found := strings.Cut(err.Error(), "consumer group config: ")
			if !found {
				return f, fmt.Errorf("%s: %w", v.Value, err)
			}
			v.Reason = reason
		}
		f.Cases = append(f.Cases, v)
	}
	return f, nil
}

// hashVectors let the server transform real messages: the hash is its own.
func hashVectors(ctx context.Context, lab *Lab) (VectorFile, error) {
	f := VectorFile{Format: VectorFormat, Source: "nats-server " + lab.Version + ", subject transforms",
		About: "The partition of a subject: FNV-1a (32 bit) over the tokens of the chosen wildcards in the order given, with nothing between them, or over the whole subject without any; modulo max_members."}
	b, err := lab.bench(ctx, 1)
	if err != nil {
		return f, err
	}
	defer b.close()
	for i, v := range hashInputs() {
		destination, err := destinationOf(ctx, b, i, v)
		if err != nil {
			return f, err
		}
		// A stream with a prefix of its own for each vector: transforms see the subject
		// as it is published, so it is set on a stream that captures just that one.
		name := fmt.Sprintf("V%d", i)
		s, err := b.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{v.Subject}, Storage: jetstream.MemoryStorage,
			SubjectTransform: &jetstream.SubjectTransformConfig{Source: v.Filter, Destination: destination}})
		if err != nil {
			return f, err
		}
		if _, err = b.js.Publish(ctx, v.Subject, nil); err != nil {
			return f, err
		}
		m, err := s.GetMsg(ctx, 1)
		if err == nil {
			_, err = fmt.Sscanf(m.Subject, "%d.", &v.Partition)
		}
		if err != nil {
			return f, fmt.Errorf("%s: %w", v.Subject, err)
		}
		if err := b.js.DeleteStream(ctx, name); err != nil {
			return f, err
		}
		f.Cases = append(f.Cases, v)
	}
	return f, nil
}

// destinationOf is the reference's transform for a vector.
func destinationOf(ctx context.Context, b *bench, i int, v HashVector) (string, error) {
	origin, name := fmt.Sprintf("O%d", i), "g"
	if _, err := b.js.CreateStream(ctx, jetstream.StreamConfig{Name: origin, Subjects: []string{"origin." + origin}}); err != nil {
		return "", err
	}
	if _, err := oracle.CreateElastic(ctx, b.js, origin, name, v.MaxMembers, []oracle.PartitioningFilter{{Filter: v.Filter, PartitioningWildcards: v.Wildcards}}, -1, -1); err != nil {
		return "", err
	}
	s, err := b.js.Stream(ctx, origin+"-"+name)
	if err != nil {
		return "", err
	}
	destination := s.CachedInfo().Config.Sources[0].SubjectTransforms[0].Destination
	return destination, b.js.DeleteStream(ctx, origin+"-"+name)
}

// timersVectors are read off the wire when an implementation joins.
func timersVectors(ctx context.Context, lab *Lab, by Implementation) (VectorFile, error) {
	f := VectorFile{Format: VectorFormat, Source: fromOracle,
		About: "The times that follow from the AckWait of the consumer configuration that a member is given: those of its consumer, and of its pull requests."}
	for _, kind := range []string{Elastic, Static} {
		for _, wait := range []time.Duration{0, 100 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second, 5 * time.Second, 30 * time.Second, 10 * time.Minute} {
			v, err := timersOf(ctx, lab, by, kind, wait)
			if err != nil {
				return f, fmt.Errorf("%s, %v: %w", kind, wait, err)
			}
			f.Cases = append(f.Cases, v)
		}
	}
	return f, nil
}

func timersOf(ctx context.Context, lab *Lab, by Implementation, kind string, wait time.Duration) (TimersVector, error) {
	v := TimersVector{Kind: kind, Given: wait}
	create := elasticRequest(2, oneFilter, -1, -1)
	membership := members("m1")
	if kind == Static {
		create, membership = staticRequest(2, nil, []string{"m1"}, nil), ""
	}
	script, err := playWire(ctx, lab, Case{wire: func(s *stage) {
		s.existing(create, membership)
		s.join(joinRequest(kind, "m1", wait))
	}}, by)
	if err != nil {
		return v, err
	}
	for _, e := range script[0].entries {
		switch e.kind {
		case kindWrite:
			err = json.Unmarshal([]byte(e.body), &struct{ Config *TimersVector }{&v})
		case kindPull:
			err = json.Unmarshal([]byte(e.body), &v)
		}
		if err != nil {
			return v, err
		}
	}
	v.Kind, v.Given = kind, wait
	return v, nil
}
