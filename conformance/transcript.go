package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Kinds of traffic. What changes state is compared in order and in full; what
// only asks, and pulls, are compared as sets, as their number is a matter of
// timing.
const (
	kindWrite   = "write"   // a state-changing API request
	kindPublish = "publish" // a write to a KV bucket
	kindRead    = "read"
	kindPull    = "pull"
	kindAck     = "ack" // an acknowledgement that asks for an answer
)

// entry is one message on the wire, with what is random replaced.
type entry struct {
	kind    string
	subject string
	header  []string // "Name: value", sorted
	body    string
}

// step is what an implementation sent while it did one thing.
type step struct {
	name    string
	refused bool   // it returned an error
	why     string // which one, to explain a difference
	entries []entry
}

// transcript is all that an implementation sent in a case.
type transcript []step

var (
	randomID = regexp.MustCompile(`\b[0-9A-Za-z]{22}\b`)
	inbox    = regexp.MustCompile(`"_INBOX\.[^"]*"`)
	ackTail  = regexp.MustCompile(`^(\$JS\.ACK)\.(?:.*\.)?([^.]+\.[^.]+)\.\d+\.\d+\.\d+\.\d+\.\d+(\..*)?$`)
)

const (
	api          = "$JS.API."
	bucketStream = "KV_"
)

// normalise turns a captured message into an entry.
func normalise(m *nats.Msg) entry {
	e := entry{kind: kindOf(m.Subject), subject: m.Subject, body: string(m.Data)}
	for name, values := range m.Header {
		for _, v := range values {
			e.header = append(e.header, name+": "+v)
		}
	}
	slices.Sort(e.header)
	switch e.kind {
	case kindRead:
		e.subject, e.body = readSubject(e.subject), ""
	case kindPull:
		e.body = pullBody(m.Data)
	case kindAck:
		e.subject = ackTail.ReplaceAllString(e.subject, "$1.$2")
	case kindWrite:
		e.body = inbox.ReplaceAllString(e.body, `"<inbox>"`)
		e.subject = randomID.ReplaceAllString(e.subject, "<id>")
	}
	return e
}

func kindOf(subject string) string {
	verb, isAPI := strings.CutPrefix(subject, api)
	switch {
	case strings.HasPrefix(subject, "$KV."):
		return kindPublish
	case !isAPI:
		return kindAck
	case strings.HasPrefix(verb, "CONSUMER.MSG.NEXT."):
		return kindPull
	case verb == "INFO", strings.HasPrefix(verb, "DIRECT."), strings.HasPrefix(verb, "STREAM.MSG.GET."),
		strings.Contains(verb, ".INFO."), strings.Contains(verb, ".NAMES"), strings.Contains(verb, ".LIST"):
		return kindRead
	case strings.HasPrefix(verb, "CONSUMER.") && strings.Contains(verb, "."+bucketStream):
		return kindRead // a watch of the bucket
	}
	return kindWrite
}

// pullBody is a pull request without the batch, which depends on what is
// buffered at the moment, and with a pin id only noted.
func pullBody(data []byte) string {
	var fields map[string]any
	if json.Unmarshal(data, &fields) != nil {
		return string(data)
	}
	delete(fields, "batch")
	if fields["id"] != nil {
		fields["id"] = "PIN"
	}
	out, _ := json.Marshal(fields) // what was just decoded; sorted by key
	return string(out)
}

// readSubject names a read by what it asks. A watch is a consumer with a random
// name on the bucket's stream: what it filters by counts.
func readSubject(subject string) string {
	verb := strings.TrimPrefix(subject, api)
	i := strings.Index(verb, "."+bucketStream)
	if i < 0 || !strings.HasPrefix(verb, "CONSUMER.") {
		return subject
	}
	rest := strings.SplitN(verb[i+1:], ".", 3)
	switch {
	case strings.HasPrefix(verb, "CONSUMER.CREATE.") && len(rest) == 3:
		return "watch " + rest[0] + " " + rest[2]
	case strings.HasPrefix(verb, "CONSUMER.CREATE."):
		return "watch " + rest[0]
	case strings.HasPrefix(verb, "CONSUMER.DELETE."):
		return "end of watch " + rest[0]
	}
	return randomID.ReplaceAllString(subject, "<id>")
}

// ordered are the entries whose order and number count.
func (s step) ordered() []entry {
	return slices.DeleteFunc(slices.Clone(s.entries), func(e entry) bool { return e.kind != kindWrite && e.kind != kindPublish })
}

// set are the distinct entries of a kind, sorted.
func (s step) set(kind string) []entry {
	var out []entry
	for _, e := range s.entries {
		if e.kind == kind && !slices.ContainsFunc(out, e.same) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (e entry) same(o entry) bool { return e.String() == o.String() }

// String is the entry as a golden holds it.
func (e entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", e.kind, e.subject)
	for _, h := range e.header {
		fmt.Fprintf(&b, "  %s\n", h)
	}
	if e.body != "" {
		fmt.Fprintf(&b, "  | %s\n", e.body)
	}
	return b.String()
}
