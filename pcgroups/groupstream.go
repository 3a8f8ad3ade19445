package pcgroups

import "github.com/nats-io/nats.go/jetstream"

// GroupStreamConfig returns what the work-queue stream of an elastic group has to
// be, given how it is. stream is the origin, c the group's configuration, have
// the configuration of the stream [ComposeGroupStreamName] names.
//
// Only what makes the stream the group's is put right, by the rule by which
// [CreateElastic] and [DeleteElastic] know it: work-queue retention, no subjects
// of its own, no mirror, and the origin as its one source with the group's
// subject transforms, however their functions are spelt; and the limits, which
// are the group's too, 0 being no limit and stated as the server states it, -1,
// with the policy to refuse, not to drop, what exceeds them. Replicas, storage,
// placement, metadata and the like are as in have. So a field that differs
// between the two is one that somebody changed. The server refuses an update that
// changes retention, and one that removes a mirror.
//
// have is not changed; the result shares memory with it.
func GroupStreamConfig(stream string, c *ElasticConsumerGroupConfig, have jetstream.StreamConfig) jetstream.StreamConfig {
	want := have
	want.Retention, want.Subjects, want.Mirror = jetstream.WorkQueuePolicy, nil, nil
	if !isGroupStream(stream, c, want) {
		want.Sources = []*jetstream.StreamSource{{Name: stream, SubjectTransforms: groupTransforms(c)}}
	}
	want.MaxMsgs, want.MaxBytes = statedLimit(c.MaxBufferedMsgs), statedLimit(c.MaxBufferedBytes)
	want.Discard = jetstream.DiscardNew
	return want
}

// statedLimit is a limit as the server states it.
func statedLimit(configured int64) int64 {
	if configured <= 0 {
		return -1
	}
	return configured
}
