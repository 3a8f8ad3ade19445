package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a name that passes the plan and is refused by the library when it is
// applied, or that is refused by the plan although it would work.
func TestName_agreesWithLibrary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library := func(stream, group string, members ...string) bool {
		_, err := pcgroups.CreateElastic(t.Context(), w.js, stream, group, 1, nil, -1, -1, pcgroups.WithMembers(members...))
		if err != nil && !errors.Is(err, pcgroups.ErrInvalidConfig) && !errors.Is(err, pcgroups.ErrStreamNotFound) && !errors.Is(err, pcgroups.ErrGroupExists) {
			t.Logf("%q %q %q: %v", stream, group, members, err)
		}
		return !errors.Is(err, pcgroups.ErrInvalidConfig)
	}
	key, member := name{what: "group", key: true}, memberNames
	for _, s := range []string{
		"a", "A-b_c", "a=b", "0", "ä", "a.b", "a b", "a*", ">", "a/b", `a\b`, "a\tb", "a\x00b", "a\u200bb", "a+b", "a:b", "a@b", "\ufffd", "日本",
		strings.Repeat("x", 240), strings.Repeat("x", 256),
	} {
		if got, want := key.fault(s) == "", library("ORDERS", s); got != want {
			t.Errorf("group %q: plan %v, library %v", s, got, want)
		}
		if got, want := key.fault(s) == "", library(s, "g"); got != want {
			t.Errorf("stream %q: plan %v, library %v", s, got, want)
		}
		if got, want := member.fault(s) == "", library("NOPE", "g", s); got != want {
			t.Errorf("member %q: plan %v, library %v", s, got, want)
		}
	}
}
