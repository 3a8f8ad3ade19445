package pcgroups

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// These are how every implementation, in any language, finds a group. A change
// here makes all existing groups disappear.
func TestWireNames(t *testing.T) {
	for _, c := range [][2]string{
		{StaticBucket, "static-consumer-groups"},
		{ElasticBucket, "elastic-consumer-groups"},
		{PriorityGroup, "PCG"},
		{ComposeKey("ORDERS", "cg"), "ORDERS.cg"},
		{ComposeStaticConsumerName("cg", "m1"), "cg-m1"},
		{ComposeGroupStreamName("ORDERS", "cg"), "ORDERS-cg"},
		{staticFlavour.groupStream("ORDERS", "cg"), "ORDERS"},
		{staticFlavour.consumerName("cg", "m1"), "cg-m1"},
		{staticFlavour.bucket, StaticBucket},
		{elasticFlavour.groupStream("ORDERS", "cg"), "ORDERS-cg"},
		{elasticFlavour.consumerName("cg", "m1"), "m1"},
		{elasticFlavour.bucket, ElasticBucket},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// The oracle accepts names with dots, spaces or wildcards and only logs later
// that it can not consume; its list then shows them cut short. Each is refused
// before anything is asked of the server (the connection here is nil), with the
// character that is wrong.
func TestBadNamesAreRefusedUpFront(t *testing.T) {
	ctx := t.Context()
	const only = "; only letters, digits, '-', '_' and '=' can be used"
	const member = ", which a consumer name can not hold; use letters, digits, '-' and '_'"
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		stream, group, member string
		want                  string
	}{
		{"", "g", "m", `stream: must not be empty`},
		{"S", "", "m", `group: must not be empty`},
		{"S", "g", "", `member: must not be empty`},
		{"S.1", "g", "m", `stream: "S.1" contains a dot` + only},
		{"S", "a.b", "m", `group: "a.b" contains a dot` + only},
		{"S", "a b", "m", `group: "a b" contains a space` + only},
		{"S", "a\tb", "m", `group: "a\tb" contains a space` + only},
		{"S", "*", "m", `group: "*" contains a wildcard` + only},
		{"S", "g>", "m", `group: "g>" contains a wildcard` + only},
		{"S", "a/b", "m", `group: "a/b" contains a path separator` + only},
		{"S", `a\b`, "m", `group: "a\\b" contains a path separator` + only},
		{"S", "a\x00b", "m", `group: "a\x00b" contains an unprintable character` + only},
		{"S", "a\xffb", "m", `group: "a\xffb" contains an unprintable character` + only},
		{"S", "grün", "m", `group: "grün" contains the character ü` + only},
		{"S$", "g", "m", `stream: "S$" contains the character $` + only},
		{"S", "g", "pod.0", `member: "pod.0" contains a dot` + member},
		{"S", "g", "pod 0", `member: "pod 0" contains a space` + member},
		{"S", "g", "pod\u00a00", `member: "pod\u00a00" contains a space` + member},
		{"S", "g", "pod\r", `member: "pod\r" contains a space` + member},
		{"S", "g", "pod*", `member: "pod*" contains a wildcard` + member},
		{"S", "g", ">", `member: ">" contains a wildcard` + member},
		{"S", "g", "a/b", `member: "a/b" contains a path separator` + member},
		{"S", "g", `a\b`, `member: "a\\b" contains a path separator` + member},
		{"S", "g", "a\u200b", `member: "a\u200b" contains an unprintable character` + member},
		{"S", "g", "\xff", `member: "\xff" contains an unprintable character` + member},
		{long, strings.Repeat("g", 60), "m", `group: the stream and group name joined by a dash is 261 bytes long, the server allows 255`},
		{"S", "g", strings.Repeat("m", 256), `member: the consumer name is 256 bytes long, the server allows 255`},
		{"S", "g", strings.Repeat("é", 128), `member: the consumer name is 256 bytes long, the server allows 255`},
	} {
		_, err := ElasticConsume(ctx, nil, c.stream, c.group, c.member, func(jetstream.Msg) {}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
		var field *ConfigError
		if !errors.As(err, &field) || field.Error() != c.want {
			t.Errorf("%q, %q, %q: got  %v\nwant %s", c.stream, c.group, c.member, err, c.want)
		}
	}
	// The static consumer's name also holds the group.
	_, err := StaticConsume(ctx, nil, "S", long, strings.Repeat("m", 60), func(jetstream.Msg) {}, jetstream.ConsumerConfig{})
	if err == nil || !strings.HasSuffix(err.Error(), "member: the consumer name is 261 bytes long, the server allows 255") {
		t.Errorf("a static consumer name that is too long: %v", err)
	}
}

// Names that work must pass: pod names are longer than the 16 characters that a
// priority group may have, and a member may be named in any script.
func TestGoodNamesAreAccepted(t *testing.T) {
	for _, c := range [][3]string{
		{"ORDERS", "cg", "m1"},
		{"a=b", "_-=", "pod-7d4b9c6f5-x2lqz"},
		{"S", "g", "grün"},
		{"S", "g", "日本"},
		{"S", "g", "a:b@c$d%e+(f)"},
		{strings.Repeat("s", 100), strings.Repeat("g", 154), strings.Repeat("m", 100)},
		{"S", "g", strings.Repeat("m", 253)},
	} {
		if err := errors.Join(checkNames(elasticFlavour, c[0], c[1]), checkMember(elasticFlavour, c[1], c[2]), checkMember(staticFlavour, c[1], c[2])); err != nil {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// A static group has no stream of its own, so the length of stream and group
// together is no limit for it: the oracle has such groups.
func TestStaticNamesMayBeLongTogether(t *testing.T) {
	stream, group := strings.Repeat("s", 200), strings.Repeat("g", 100)
	create := func() error {
		_, err := CreateStatic(t.Context(), nil, stream, group, 1, nil, []string{"m1"}, nil)
		return err
	}
	if !getsPastValidation(create) { // with a nil connection the first request is a panic
		t.Errorf("refused, although no name of %d bytes is ever used: %v", len(stream)+1+len(group), create())
	}
}
