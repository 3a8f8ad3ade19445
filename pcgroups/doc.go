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
//	stream        partition =              members        instances
//	ORDERS        hash(key) mod 4          (names)        (programs that run as one)
//
//	orders.17 ──► 0.orders.17 ──┐
//	                            ├────────► m1 ──┬───────► a  pinned: it gets the messages
//	orders.4  ──► 1.orders.4  ──┘               └───────► b  standby
//
//	orders.9  ──► 2.orders.9  ──┐
//	                            ├────────► m2 ──────────► c  pinned
//	orders.8  ──► 3.orders.8  ──┘
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
// Not promised: order without acknowledgement (AckNone), or with AckAll, which a
// static group may have: messages are handled one after another as they come, and
// each acknowledgement takes along all before it, what was given back among them.
// Nor beside instances of orbit.go in the same member; for messages acknowledged past the session, by
// their reply subject, sooner than after one ack deadline; after the process or
// its network stood still for longer than the deadline; with a single server that
// was killed before it had stored the consumer's state; and, where deliveries are
// limited (MaxDeliver), when a session stops: what is at its last delivery waits
// here for earlier messages of its partition that its handler gave back to be
// settled by another instance, but for one ack deadline at most. Then it is run, as
// nobody else would get it. What another instance has in flight and renews is waited
// for longer, and Stop with it.
//
// A message that is not settled holds its partition, and with it what the server
// has delivered behind it. When that fills MaxAckPending the server delivers
// nothing more, to no partition of the member: see [Status] and Events. Messages
// kept in memory are at most MaxAckPending, 1,000 if that is unlimited. Redelivery
// counts (MaxDeliver) start again when a rebalance makes a new consumer.
//
// When the leader of a replicated consumer changes, the server may deliver a running
// message again at once: it counts its ack deadline from when the message was stored.
// Another instance leaves such a message alone until an ack wait after the change, or
// until it is settled, so that handlers do not overlap; a member with a backlog may
// pause that long. A handler that lives longer than AckWait by [WithKeepAlive] is
// waited for with one message in flight and no MaxDeliver. Else, or if it extends its
// deadline by InProgress itself, it may overlap with the redelivery from one ack wait
// after the change on, if the leader changed before its first extension. An
// acknowledgement sent to a leader that is going can be lost: with one message in
// flight it is repeated, else the message is handled again.
//
// With many messages in flight and several instances of a member, a handler that lives
// longer than AckWait may also overlap when the membership changes twice meanwhile:
// another instance that has become the active one hands over the partitions without
// knowing of it. With one instance a hand-over waits for the handler.
//
// With many in flight and one handler at a time, a handler that was quick for long is
// called by the client's own goroutine. If it then takes long, what the client was
// about to deliver is not renewed meanwhile: after AckWait it comes again, in order,
// and is counted as delivered once more. This is not so with MaxDeliver or
// [WithKeepAlive], nor a second time after a sixteenth of an ack wait.
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
// The AckWait of the consumer configuration that a member is given says how long a
// handler may take, and from it follows how fast a fault is noticed:
//
//	a handles      ├─ handler ─┤ack├─ handler ───✕ a dies
//	a pulls        ├─ expiry ─┼─ expiry ─┼─ exp… │
//	                                             │
//	the message    ├ delivered to a ─────────────┼── AckWait ──┤ delivered again, to b
//	the pin        ├ a's, renewed by each pull ──┼── AckWait ──┤ b's
//	a's consumer                                 └── AckWait ──┤ gone if there is no b (elastic)
//
// All times by AckWait, 5 s if none is given:
//
//	AckWait                     2s      5s      30s     is how long
//	pin time to live            2s      5s      30s     a silent instance stays the active one: max(AckWait, 1s)
//	pull expiry                 1s      2.5s    15s     a pull waits at the server; each renews the pin: max(AckWait/2, 1s)
//	heartbeat                   500ms   1.25s   7.5s    the server is silent while a pull waits: half the expiry, at most 30 s
//	pin renewal                 666ms   1.66s   10s     at most until the pin is renewed while handlers run: pin time to live / 3
//	inactivity threshold        2s      5s      30s     an elastic member's consumer is kept when nobody pulls: AckWait
//	self-check                  8s      20s     30s     until a session looks at the server unprompted: 4 AckWait, from 2 s to 30 s
//	WithKeepAlive               666ms   1.66s   10s     until a running handler's message is extended: AckWait/3
//	WithAutoMembership          6s      15s     90s     at least until a member that is gone is evicted: 3 AckWait
//
// In BackOff the first value takes the place of AckWait for the handlers. If a had
// a message in hand when it died, its consumer goes after up to 3.5 AckWait
// (measured). Stop of a session does not wait for any of this: the standby goes on
// within milliseconds. Nor does a change of the membership: it waits for running
// handlers only.
//
// Use at least 2 s: below, the 1 s floors meet and an idle group's pin may move
// between instances. All instances of a member should be given the same.
//
// # Compatibility
//
// The package is compatible with github.com/synadia-io/orbit.go/pcgroups v0.2 on
// the wire and in its calls: groups made by either are administered and consumed
// by the other, and a program changes over by its import path.
//
// The package logs nothing by itself; see [WithEvents] and [WithLogger].
package pcgroups
