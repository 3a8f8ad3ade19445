package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// queueState is how the work-queue stream of an elastic group is.
type queueState struct {
	missing bool
	// spoilt are settings that others changed and that can not be changed back.
	spoilt []string
	// edited are settings that others changed and the next apply puts right.
	edited []string
	// resourced: putting them right makes the server source the stream anew.
	resourced bool
}

func (q queueState) good() bool { return !q.missing && len(q.spoilt) == 0 && len(q.edited) == 0 }

// lookAtQueue compares the work-queue stream with what the group needs.
func lookAtQueue(ctx context.Context, js jetstream.JetStream, group groupRef, c *pcgroups.ElasticConsumerGroupConfig) (queueState, error) {
	s, err := js.Stream(ctx, pcgroups.ComposeGroupStreamName(group.stream, group.name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return queueState{missing: true}, nil
	}
	if err != nil {
		return queueState{}, err
	}
	return compareQueue(group.stream, c, s.CachedInfo().Config), nil
}

// compareQueue tells how the stream differs from what makes it the group's, which
// is the library's to say. Replicas, placement, storage and the like are their
// owner's business.
func compareQueue(stream string, c *pcgroups.ElasticConsumerGroupConfig, have jetstream.StreamConfig) queueState {
	var q queueState
	want := pcgroups.GroupStreamConfig(stream, c, have)
	if have.Retention != want.Retention {
		q.spoilt = append(q.spoilt, fmt.Sprintf("its retention is %s, not %s", have.Retention, want.Retention))
	}
	if len(have.Subjects) != 0 {
		q.spoilt = append(q.spoilt, fmt.Sprintf("it has subjects of its own (%s)", strings.Join(have.Subjects, ", ")))
	}
	if have.Mirror != nil {
		q.spoilt = append(q.spoilt, "it is a mirror of "+have.Mirror.Name)
	}
	if q.resourced = !reflect.DeepEqual(have.Sources, want.Sources); q.resourced {
		what := "its one source is not " + stream
		if len(have.Sources) == 1 && have.Sources[0].Name == stream && have.Sources[0].External == nil {
			what = "its subject transforms are not the group's"
		}
		q.edited = append(q.edited, what)
	}
	for _, l := range []struct {
		name       string
		have, want any
	}{
		{"max_msgs", have.MaxMsgs, want.MaxMsgs},
		{"max_bytes", have.MaxBytes, want.MaxBytes},
		{"discard policy", have.Discard, want.Discard},
	} {
		if l.have != l.want {
			q.edited = append(q.edited, fmt.Sprintf("its %s is %v, not %v", l.name, l.have, l.want))
		}
	}
	return q
}

// story tells a reader of the plan what is wrong and what will come of it.
func (q queueState) story(group groupRef) string {
	if q.missing {
		return "" // work_queue_stream in the plan says it all
	}
	name := pcgroups.ComposeGroupStreamName(group.stream, group.name)
	if len(q.spoilt) != 0 {
		return fmt.Sprintf("Someone changed the stream %s of %v: %s. That can not be changed back, so an apply will fail. "+
			"Replace the group (force_destroy with -replace), or put the stream right by hand.", name, group, strings.Join(append(q.spoilt, q.edited...), "; "))
	}
	text := fmt.Sprintf("Someone changed the stream %s of %v: %s. The next apply puts it right.", name, group, strings.Join(q.edited, "; "))
	if q.resourced {
		text += fmt.Sprintf(" The server then sources %s anew, so messages that were processed already may be delivered again.", group.stream)
	}
	return text
}

// spoiltError says that the work-queue stream can not be repaired.
type spoiltError struct{ story string }

func (e *spoiltError) Error() string { return e.story }

// repairElastic makes the work-queue stream what the group needs.
func repairElastic(ctx context.Context, js jetstream.JetStream, group groupRef) error {
	c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, group.stream, group.name)
	if err != nil {
		return err
	}
	s, err := js.Stream(ctx, pcgroups.ComposeGroupStreamName(group.stream, group.name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// To create the group once more as it is stored makes just the stream.
		_, err = pcgroups.CreateElastic(ctx, js, group.stream, group.name, c.MaxMembers, c.PartitioningFilters, c.MaxBufferedMsgs, c.MaxBufferedBytes)
		return err
	}
	if err != nil {
		return err
	}
	config := s.CachedInfo().Config
	q := compareQueue(group.stream, c, config)
	if q.good() {
		return nil
	}
	if len(q.spoilt) != 0 {
		return &spoiltError{q.story(group)}
	}
	_, err = js.UpdateStream(ctx, pcgroups.GroupStreamConfig(group.stream, c, config))
	return err
}

// warnOfOrphan tells of a work-queue stream that outlived its group, as when a
// destroy was cut off in the middle. Nothing else would: with the group gone from
// the state nobody looks at it any more, while it goes on filling.
func warnOfOrphan(ctx context.Context, js jetstream.JetStream, group groupRef, diags *diag.Diagnostics) {
	name := pcgroups.ComposeGroupStreamName(group.stream, group.name)
	s, err := js.Stream(ctx, name)
	if err != nil {
		return // there is none, most likely
	}
	if c := s.CachedInfo().Config; c.Retention == jetstream.WorkQueuePolicy && len(c.Sources) == 1 && c.Sources[0].Name == group.stream {
		diags.AddWarning("Work-queue stream is left behind", fmt.Sprintf(
			"The %v does not exist any more, but its work-queue stream %s does, with %s, and goes on sourcing %s. "+
				"To create the group again takes it over. If the group is not wanted, delete that stream: nats stream rm %s.",
			group, name, count(int(s.CachedInfo().State.Msgs), "message"), group.stream, name))
	}
}
