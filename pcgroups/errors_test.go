package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// sentinels is every error that callers can match.
var sentinels = map[string]error{
	"ErrGroupNotFound":      ErrGroupNotFound,
	"ErrGroupExists":        ErrGroupExists,
	"ErrInvalidConfig":      ErrInvalidConfig,
	"ErrMemberNotInGroup":   ErrMemberNotInGroup,
	"ErrGroupConfigChanged": ErrGroupConfigChanged,
	"ErrConsumerDeleted":    ErrConsumerDeleted,
	"ErrConflict":           ErrConflict,
	"ErrLegacyConfig":       ErrLegacyConfig,
	"ErrNotGroupStream":     ErrNotGroupStream,
	"ErrStreamNotFound":     ErrStreamNotFound,
	"ErrServerTooOld":       ErrServerTooOld,
	"ErrJetStreamDisabled":  ErrJetStreamDisabled,
	"ErrHandler":            ErrHandler,
	"ErrHandlerTimeout":     ErrHandlerTimeout,
	"ErrConnectionClosed":   ErrConnectionClosed,
	"ErrBucketDeleted":      ErrBucketDeleted,
}

// A sentinel that is declared but not listed above escapes the tests below, and
// one without a comment that says when it is returned can not be handled.
func TestEverySentinelIsListedAndDocumented(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Err") {
			return true
		}
		declared++
		name := spec.Names[0].Name
		if sentinels[name] == nil {
			t.Errorf("%s is not tested", name)
		}
		if !strings.HasPrefix(spec.Doc.Text(), name+" is ") && !strings.HasPrefix(spec.Doc.Text(), name+" ends ") {
			t.Errorf("%s does not say when it is returned", name)
		}
		return true
	})
	if declared != len(sentinels) {
		t.Errorf("%d sentinels in errors.go, %d are tested", declared, len(sentinels))
	}
}

// customCause is an error of someone else that callers want back.
type customCause struct{ code int }

func (c *customCause) Error() string { return fmt.Sprintf("cause %d", c.code) }

// Programs decide by the sentinel, and debug by the cause. The oracle's errors
// are text: neither can be matched, and the text says nothing about what to do.
func TestSentinelCauseAndAdviceAreKept(t *testing.T) {
	for name, sentinel := range sentinels {
		cause := &customCause{code: 7}
		err := failed("do something to", "S", "g", "m1", because(sentinel, fmt.Errorf("asked: %w", cause), "try this"))

		var whole *Error
		var back *customCause
		if !errors.As(err, &whole) || !errors.As(err, &back) || back != cause || !errors.Is(err, cause) {
			t.Errorf("%s: *Error or the cause is lost in %#v", name, err)
		}
		for other, e := range sentinels {
			if errors.Is(err, e) != (other == name) {
				t.Errorf("an error of %s matches %s: %v", name, other, errors.Is(err, e))
			}
		}
		if want := `pcgroups: do something to S/g member "m1": ` + sentinel.Error() + `: asked: cause 7; try this`; err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if bare := because(sentinel, nil, ""); !errors.Is(bare, sentinel) || bare.Error() != sentinel.Error() {
			t.Errorf("%s without cause and advice: %v", name, bare)
		}
	}
}

// A message that names the group twice, or a member that is not there, sends the
// reader to the wrong place.
func TestErrorMessage(t *testing.T) {
	for want, e := range map[string]*Error{
		`pcgroups: list groups of S: EOF`:         {Op: "list groups of", Stream: "S", Err: io.EOF},
		`pcgroups: connect: EOF`:                  {Op: "connect", Err: io.EOF},
		`pcgroups: delete S/g: EOF`:               {Op: "delete", Stream: "S", Group: "g", Err: io.EOF},
		`pcgroups: consume S/g member "m 1": EOF`: {Op: "consume", Stream: "S", Group: "g", Member: "m 1", Err: io.EOF},
	} {
		if e.Error() != want || !errors.Is(e, io.EOF) {
			t.Errorf("got  %v\nwant %s", e, want)
		}
	}
	inner := &Error{Op: "get elastic group", Stream: "S", Group: "g", Err: ErrGroupNotFound}
	if got := failed("list active members of", "S", "g", "m", fmt.Errorf("inside: %w", inner)); strings.Count(got.Error(), "pcgroups:") != 1 {
		t.Errorf("wrapped twice: %v", got)
	}
	if err := failed("do", "S", "g", "", nil); err != nil {
		t.Errorf("success became %v", err)
	}
}

// What the client reports must be found under our names too, and still under the
// client's: a program that looks for jetstream.ErrStreamNotFound was right before
// it changed to this package.
func TestClientErrorsGetASentinel(t *testing.T) {
	for _, c := range []struct {
		cause        error
		want, advice string
	}{
		{jetstream.ErrStreamNotFound, "ErrStreamNotFound", "create the stream first"},
		{jetstream.ErrJetStreamNotEnabled, "ErrJetStreamDisabled", "enable it on the server"},
		{jetstream.ErrJetStreamNotEnabledForAccount, "ErrJetStreamDisabled", "enable it on the server"},
		{nats.ErrNoResponders, "ErrJetStreamDisabled", "nobody answered"},
		{nats.ErrConnectionClosed, "ErrConnectionClosed", ""},
		{jetstream.ErrConsumerNotFound, "", ""},
		{context.DeadlineExceeded, "", ""},
		{io.ErrUnexpectedEOF, "", ""},
	} {
		for _, cause := range []error{c.cause, fmt.Errorf("while asking: %w", c.cause)} {
			err := failed("do", "S", "g", "", cause)
			if !errors.Is(err, c.cause) {
				t.Errorf("%v: the cause is lost", err)
			}
			for name, sentinel := range sentinels {
				if errors.Is(err, sentinel) != (name == c.want) {
					t.Errorf("%v: matches %s: %v", err, name, errors.Is(err, sentinel))
				}
			}
			if !strings.Contains(err.Error(), c.advice) {
				t.Errorf("%v: no advice", err)
			}
		}
	}
	// A group that is not found because of a stream stays a group that is not found.
	err := failed("do", "S", "g", "", because(ErrGroupNotFound, jetstream.ErrStreamNotFound, ""))
	if !errors.Is(err, ErrGroupNotFound) || errors.Is(err, ErrStreamNotFound) {
		t.Errorf("got another sentinel: %v", err)
	}
}

// The revision is what a write was conditional on; both words the client has for
// a mismatch mean that someone else was faster.
func TestRevisionMismatchIsAConflict(t *testing.T) {
	for _, cause := range []error{jetstream.ErrKeyRevisionMismatch, jetstream.ErrKeyExists} {
		if err := conflict(cause); !errors.Is(err, ErrConflict) || !errors.Is(err, cause) {
			t.Errorf("%v became %v", cause, err)
		}
	}
	if err := conflict(io.EOF); !errors.Is(err, io.EOF) || errors.Is(err, ErrConflict) {
		t.Errorf("EOF became %v", err)
	}
	if err := conflict(nil); err != nil {
		t.Errorf("success became %v", err)
	}
}

// A field that is wrong must be found by program (Terraform marks the attribute)
// and by person.
func TestConfigErrorNamesTheField(t *testing.T) {
	err := failed("create static group", "S", "g", "", badField("max_members", "must be at least %d", 1))
	var field *ConfigError
	if !errors.As(err, &field) || field.Field != "max_members" || field.Reason != "must be at least 1" || !errors.Is(err, ErrInvalidConfig) {
		t.Errorf("%#v", err)
	}
	if want := "pcgroups: create static group S/g: max_members: must be at least 1"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A panic is passed on as an error; its value must be reachable where it is one,
// and its stack must not flood the message.
func TestPanicError(t *testing.T) {
	err := because(ErrHandler, &PanicError{Value: fmt.Errorf("deep: %w", io.EOF), Stack: []byte("goroutine 1")}, "")
	var p *PanicError
	if !errors.Is(err, io.EOF) || !errors.Is(err, ErrHandler) || !errors.As(err, &p) || string(p.Stack) != "goroutine 1" {
		t.Errorf("%#v", err)
	}
	if got := err.Error(); got != ErrHandler.Error()+": panic: deep: EOF" {
		t.Errorf("got %s", got)
	}
	if text := (&PanicError{Value: "boom"}); text.Error() != "panic: boom" || errors.Unwrap(text) != nil {
		t.Errorf("%v, unwrapped %v", text, errors.Unwrap(text))
	}
}

// What can be seen to be wrong is told before the server is asked (the connection
// is nil), by every call alike: an *Error that says what was tried, around the
// field that is wrong.
func TestCallsRefuseBadArgumentsWithoutAsking(t *testing.T) {
	ctx := t.Context()
	handler := func(jetstream.Msg) {}
	explicit := jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy}
	for want, call := range map[string]func() error{
		`add members to S/g: members: name at least one member to add`: func() error {
			_, err := AddMembers(ctx, nil, "S", "g", nil)
			return err
		},
		`add members to S/g: member: "a.b" contains a dot, which a consumer name can not hold; use letters, digits, '-' and '_'`: func() error {
			_, err := AddMembers(ctx, nil, "S", "g", []string{"m1", "a.b"})
			return err
		},
		`drop members from S/g: members: name at least one member to drop`: func() error {
			_, err := DeleteMembers(ctx, nil, "S", "g", []string{})
			return err
		},
		`set members of S/g: member: "*" contains a wildcard, which a consumer name can not hold; use letters, digits, '-' and '_'`: func() error {
			_, err := SetMembers(ctx, nil, "S", "g", []string{"*"})
			return err
		},
		`set member mappings of S/g: member_mappings: map at least one member`: func() error {
			return SetMemberMappings(ctx, nil, "S", "g", nil)
		},
		`set member mappings of S/g: member: must not be empty`: func() error {
			return SetMemberMappings(ctx, nil, "S", "g", []MemberMapping{{"", []int{0}}})
		},
		`consume static group S/g member "m": handler: a message handler must be given`: func() error {
			_, err := StaticConsume(ctx, nil, "S", "g", "m", nil, explicit)
			return err
		},
		`consume elastic group S/g member "m": ack_policy: must be explicit for elastic groups, as the messages of a work queue are removed by their acknowledgement`: func() error {
			_, err := ElasticConsume(ctx, nil, "S", "g", "m", handler, jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy})
			return err
		},
		`consume elastic group S/g member "a b": member: "a b" contains a space, which a consumer name can not hold; use letters, digits, '-' and '_'`: func() error {
			_, err := ElasticConsume(ctx, nil, "S", "g", "a b", handler, explicit)
			return err
		},
	} {
		err := call()
		var whole *Error
		var field *ConfigError
		if !errors.As(err, &whole) || !errors.As(err, &field) || !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%v lacks *Error, *ConfigError or ErrInvalidConfig", err)
		}
		if err == nil || err.Error() != "pcgroups: "+want {
			t.Errorf("got  %v\nwant pcgroups: %s", err, want)
		}
	}
}

// Prevents: an error that leaves the user to look up who is in the group, or one
// with half a million names.
func TestNotAMemberNamesTheMembers(t *testing.T) {
	for want, members := range map[string][]string{
		`it has no members; create the group anew with this one`:                                                                              nil,
		`it has the members ["a" "b \"c\""]; run as one of them, or create the group anew with this one`:                                      {"a", `b "c"`},
		`it has the members ["m" "m" "m" "m" "m" "m" "m" "m" "m" "m"] and 2 more; run as one of them, or create the group anew with this one`: strings.Split(strings.Repeat("m", 12), ""),
	} {
		if got := notAMember(members).Error(); got != ErrMemberNotInGroup.Error()+"; "+want {
			t.Errorf("%s\nwant …%s", got, want)
		}
	}
}
