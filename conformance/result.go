package conformance

import "time"

// Status is how a case ended. The five are kept apart everywhere: only Fail and
// HarnessError make a run fail, and only Fail says something is wrong with an
// implementation.
type Status string

// The outcomes of a case.
const (
	Pass         Status = "pass"
	Fail         Status = "fail"
	Known        Status = "known divergence"    // all that was found is listed, with a reason
	Unsupported  Status = "unsupported feature" // the implementation or the server says that it lacks it
	HarnessError Status = "harness error"       // the suite could not tell
)

// Statuses are all outcomes in the order in which reports give them.
var Statuses = []Status{Pass, Fail, Known, Unsupported, HarnessError}

// Difference is one thing in which an implementation is not as it should be.
type Difference struct {
	Implementation string `json:"implementation"`
	Text           string `json:"text"`
	Reason         string `json:"reason,omitempty"` // of a known one
}

// Result is the outcome of one case.
type Result struct {
	Case            string        `json:"case"`
	Implementations []string      `json:"implementations"` // those that took part
	Status          Status        `json:"status"`
	Differences     []Difference  `json:"differences,omitempty"` // the ones that are not known
	Known           []Difference  `json:"known,omitempty"`
	Note            string        `json:"note,omitempty"` // why it is unsupported, or the harness's error
	Took            time.Duration `json:"took_ns"`

	used []int // lines of the list of divergences
}

// finding is a difference before it is looked up in the list.
type finding struct{ impl, text string }
