// Package pcgroups consumes NATS JetStream streams in order and in parallel, by
// partitioned consumer groups.
//
// Consuming a stream in strict order does not scale: only one message may be in
// flight. A consumer group divides the stream into partitions by a key taken from
// the subject and gives each of its members a fixed subset of them. Messages with
// the same key are handled one at a time and in order; different partitions are
// handled at the same time by different members. Each member may run as several
// instances, of which the server pins one (ADR-42); the others are hot standbys.
//
//	                 partition = hash(key) mod max_members
//	              ┌── 0.orders.17 ──┐
//	orders.17 ──► │   1.orders.4    ├──► member m1 ─► instance a (pinned)
//	orders.4      └── 2.orders.9 ───┘                 instance b (standby)
//	orders.9          3.orders.8  ─────► member m2 ─► instance c (pinned)
//
// # Static and elastic groups
//
// A static group consumes from the stream itself, whose subjects must already
// carry the partition number as their first token, put there by the stream's
// subject transform (see [PartitioningTransformDestination]). Its membership is
// fixed: see [CreateStatic] and [StaticConsume].
//
// An elastic group gets a work-queue stream of its own, <stream>-<group>, that
// sources the stream and puts the partition number in front. Its members can be
// changed at any time, by [AddMembers], [DeleteMembers], [SetMembers] or
// [SetMemberMappings], while they consume: see [CreateElastic] and
// [ElasticConsume].
//
// Without anyone to manage its members an elastic group can look after itself:
// with [WithAutoMembership] each session adds its member, drops it when it is
// stopped, and evicts members that crashed and do not come back.
//
// # Order with many messages in flight
//
// With MaxAckPending 1 the server has one message of a member in flight, which is
// strict order at the price of a round trip for each. With more, and explicit
// acknowledgement, the same is promised for each partition: its handlers never
// overlap, and a message starts only when every earlier one that was delivered is
// settled, which is acknowledged, terminated, or given up by the server. This
// holds through Nak, redelivery, rebalance, step-down, stop and lost connections,
// and across the instances of a member, as long as each handler settles before
// its ack deadline. [WithConcurrency] handles several partitions at once.
//
// A handler that outlives its deadline has its context cancelled there; from then
// on that one message may run elsewhere too, and nothing behind it starts here.
// Not promised: order without acknowledgement (AckNone); beside instances of
// orbit.go in the same member; for messages acknowledged past the session, by
// their reply subject, sooner than after one ack deadline; after the process or
// its network stood still for longer than the deadline; with a single server that
// was killed before it had stored the consumer's state; and, where deliveries are
// limited (MaxDeliver), when a session stops: what is at its last delivery waits
// here for earlier messages of its partition that its handler gave back to be
// settled by another instance, but for one ack deadline at most. Then it is run, as
// nobody else would get it.
//
// A message that is not settled holds its partition, and with it what the server
// has delivered behind it. When that fills MaxAckPending the server delivers
// nothing more, to no partition of the member: see [Status] and Events. Messages
// kept in memory are at most MaxAckPending, 1,000 if that is unlimited. Redelivery
// counts (MaxDeliver) start again when a rebalance makes a new consumer.
//
// # The hop into an elastic group's stream
//
// The server copies the origin's messages into the work-queue stream. In a
// cluster, after a server was killed, that can stand still for 40 s to two
// minutes, and a leader that lost its place can skip messages for good or copy
// them twice. [DescribeElastic] and [Events] tell of it, [AuditElastic] finds what
// never arrived, [RestartSourcing] ends a stall. Messages that were skipped can
// not be put back in order. If that is not acceptable, use a static group, which
// does not have this hop.
//
// # AckWait drives everything
//
// How fast a member notices a fault is derived from the AckWait of the consumer
// configuration it is given (5 s if not set):
//
//	pin time to live       max(AckWait, 1s)      a silent instance is replaced
//	pull expiry            max(AckWait/2, 1s)    the pin is renewed
//	inactivity threshold   AckWait               an abandoned elastic consumer goes
//
// Use at least 2 s: below, the 1 s floors meet and an idle group's pin may move
// between instances.
//
// # Compatibility
//
// The package is compatible with github.com/synadia-io/orbit.go/pcgroups v0.2 on
// the wire and in its calls: groups made by either are administered and consumed
// by the other, and a program changes over by its import path.
//
// The package logs nothing by itself; see [WithEvents] and [WithLogger].
package pcgroups
