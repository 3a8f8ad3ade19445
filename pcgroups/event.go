package pcgroups

import "time"

// The vocabulary of the state machine in machine.go: what can happen, and what
// it can say is to be done.

// event is something that happened.
type event interface{}

type (
	// evConfig is a configuration, as read or watched.
	evConfig struct {
		view     view
		revision uint64
	}
	// evBadConfig is a stored value that can not be understood.
	evBadConfig struct {
		err      error
		revision uint64
	}
	// evGone means that the configuration was deleted or purged.
	evGone struct{ revision uint64 }
	// evWatching and evWatchFailed answer the request to watch for changes;
	// evWatchLost says that a watch has ended by itself.
	evWatching    struct{}
	evWatchFailed struct{ err error }
	evWatchLost   struct{ err error }

	// evJoined means that we are attached to a consumer with these filters.
	// found tells that it was there already, with settings that differ.
	// adjustable tells that an update of the consumer could mend that.
	evJoined struct {
		filters    []string
		partitions []int
		created    time.Time
		timing     timing
		differs    error
		adjustable bool
	}
	// evJoinFailed is a consumer that could not be had.
	evJoinFailed struct {
		why joinFailure
		err error
	}
	// evReleased means that the consumer is no longer ours (deleted, or left to
	// an instance that holds the pin).
	evReleased struct{ err error }
	// evLooked is what stands on the server. An error means that it is not known.
	evLooked struct {
		config   entryState
		revision uint64 // of the configuration
		consumer bool
		unfit    bool // the consumer does not pin any more
		raised   bool // its limit of messages in flight is what a cure that was cut short leaves behind
		created  time.Time
		timing   timing
		err      error
	}
	evUnpinned struct{ err error }
	// evLeft means that the consumer is gone and the member dropped, so far as no
	// other instance needs them.
	evLeft struct {
		released, dropped bool
		err               error
	}
	// evMembership is what the session did to the group's membership, to be told:
	// tellEnrolled, tellEvicted.
	evMembership struct{ what any }
	// evSource is news of the sourcing of the group's stream, to be told.
	evSource struct{ what any }
	// evAdjusted means that the consumer has our settings, so far as they can be
	// changed. Not now: it has an unacknowledged message, which a shorter ack wait
	// would deliver again at once.
	evAdjusted struct {
		timing timing
		notNow bool
		err    error
	}

	// evPullTrouble is a report of the client that our consumer may be gone;
	// evPullEnded says that it stopped pulling by itself.
	evPullTrouble struct{ err error }
	evPullEnded   struct{ err error }
	// evNotice is something that mends itself, to be told. With adjust the consumer may
	// have been left with settings that are not ours.
	evNotice struct {
		err    error
		adjust bool
	}
	// evDrained means that the pull is stopped and what it started is over. late: a
	// handler is still running past its ack deadline, and evIdle will follow.
	evDrained struct{ late bool }
	evIdle    struct{}
	// evOverdue means that a handler runs past its ack deadline.
	evOverdue struct{}
	// evStalled tells which partitions hold up all others; none: none any more.
	evStalled struct{ partitions []int }
	// evGivenUp is a message that the server does not deliver again although it was
	// not acknowledged.
	evGivenUp struct {
		partition       int
		seq, deliveries uint64
	}
	// evPinned tells the pin id of the newest delivery; empty: it was lost.
	evPinned struct{ pin string }

	evTimer         struct{}
	evTick          struct{} // time to look whether all is as it seems
	evStop          struct{}
	evHandlerFailed struct{ err error }
	evConnClosed    struct{}
)

// timing is what a consumer's configuration says about time and a session goes
// by: its pull must renew the pin in time, its handlers have so long.
type timing struct {
	ackWait, pinnedTTL        time.Duration
	maxAckPending, maxDeliver int
}

type entryState uint8

const (
	entryThere entryState = iota
	entryGone
	bucketGone
)

// joinFailure is why a consumer could not be created.
type joinFailure uint8

const (
	joinError     joinFailure = iota // anything else: tell, look, try again
	joinNotUnique                    // another member still has one of our partitions
	joinOccupied                     // our consumer exists with other filters, and is in use
	joinRefused                      // what the user asked for can not be had
)

// action is something to do. Those marked * are requests: exactly one event
// answers each.
type action interface{}

type (
	// * evWatching, evWatchFailed
	actWatch struct{}
	// * evJoined, evJoinFailed
	actJoin struct {
		filters    []string
		partitions []int
	}
	// * evReleased. Unless it is final, the consumer is left to the instance that
	// holds its pin, which will release it in turn when it has drained.
	actRelease struct {
		created time.Time
		final   bool
	}
	// * evLooked
	actLook struct{}
	// * evUnpinned
	actUnpin struct{}
	// * evLeft. The consumer is left alone unless it was created then.
	actLeave struct{ created time.Time }
	// * evAdjusted
	actAdjust struct{}

	// actDrain stops the pull and waits for the handlers that run, each until its
	// ack deadline; evDrained follows. With settle it also waits, as long, for
	// messages whose handler returned without settling them.
	actDrain struct {
		unstarted intake
		settle    bool
	}

	actCancel struct{}                      // ends the request under way early
	actPull   struct{}                      // starts the pull
	actTimer  struct{ after time.Duration } // evTimer follows; replaces an earlier one
	actReport struct{ err error }           // tells a fault that was absorbed
	actTell   struct{ what any }            // tellAssigned and so on
	actFinish struct{ err error }           // nothing follows
)

type (
	tellAssigned struct{ partitions []int }
	tellRevoked  struct{ partitions []int }
	tellPinned   struct{ pin string }
	tellStalled  struct{ partitions []int }
	tellEnrolled struct{}
	tellLeft     struct{}
	tellWaits    struct{ why string }
	tellEvicted  struct{ members []string }
	tellGivenUp  struct {
		partition       int
		seq, deliveries uint64
	}
)
