package pcgroups

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A timer that differs from the oracle's makes another consumer: two instances of
// one member, one of each kind, then delete each other's for ever. And an AckWait
// of zero that is left to the server is 30 s, not 5.
func TestTimers(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		user time.Duration
		want timers
	}{
		{0, timers{ackWait: 5 * s, pinnedTTL: 5 * s, pullExpiry: 2500 * ms, heartbeat: 1250 * ms, selfCheck: 20 * s}},
		{-s, timers{ackWait: 5 * s, pinnedTTL: 5 * s, pullExpiry: 2500 * ms, heartbeat: 1250 * ms, selfCheck: 20 * s}},
		{500 * ms, timers{ackWait: 500 * ms, pinnedTTL: s, pullExpiry: s, heartbeat: 500 * ms, selfCheck: 2 * s}},
		{s, timers{ackWait: s, pinnedTTL: s, pullExpiry: s, heartbeat: 500 * ms, selfCheck: 4 * s}},
		{2 * s, timers{ackWait: 2 * s, pinnedTTL: 2 * s, pullExpiry: s, heartbeat: 500 * ms, selfCheck: 8 * s}},
		{5 * s, timers{ackWait: 5 * s, pinnedTTL: 5 * s, pullExpiry: 2500 * ms, heartbeat: 1250 * ms, selfCheck: 20 * s}},
		{30 * s, timers{ackWait: 30 * s, pinnedTTL: 30 * s, pullExpiry: 15 * s, heartbeat: 7500 * ms, selfCheck: 30 * s}},
		// The client caps its heartbeat; the self-check is our own.
		{300 * s, timers{ackWait: 300 * s, pinnedTTL: 300 * s, pullExpiry: 150 * s, heartbeat: 30 * s, selfCheck: 30 * s}},
	} {
		if got := deriveTimers(c.user); got != c.want {
			t.Errorf("AckWait %s: got %+v, want %+v", c.user, got, c.want)
		}
	}
}

// With BackOff set the server redelivers after its first step, whatever AckWait
// says. A deadline taken from AckWait comes too late: the message is then in two
// handlers.
func TestEffectiveAckWait(t *testing.T) {
	c := jetstream.ConsumerConfig{AckWait: 30 * time.Second}
	if got := effectiveAckWait(c); got != 30*time.Second {
		t.Errorf("without BackOff: %s", got)
	}
	c.BackOff = []time.Duration{time.Second, time.Minute}
	if got := effectiveAckWait(c); got != time.Second {
		t.Errorf("with BackOff: %s", got)
	}
}

// fullUserConfig has every field set that a user can set, so that a field which
// is dropped or overwritten shows.
func fullUserConfig(t *testing.T) jetstream.ConsumerConfig {
	t.Helper()
	var c jetstream.ConsumerConfig
	start := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("user")
		case reflect.Int, reflect.Int64:
			f.SetInt(3)
		case reflect.Uint64, reflect.Uint8:
			f.SetUint(3)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			switch f.Interface().(type) {
			case []string:
				f.Set(reflect.ValueOf([]string{"user"}))
			case []time.Duration:
				f.Set(reflect.ValueOf([]time.Duration{7 * time.Second}))
			}
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"user": "1"}))
		case reflect.Pointer:
			f.Set(reflect.ValueOf(&start))
		}
		if f.IsZero() {
			t.Fatalf("the test does not know how to set %s", v.Type().Field(i).Name)
		}
	}
	c.AckWait, c.InactiveThreshold = 4*time.Second, time.Hour
	return c
}

// Field by field the consumer must be the oracle's for the same input, whatever
// the user set: what the protocol fixes is replaced, and everything else is the
// user's. A field lost here is a setting silently ignored; one field too many is
// a consumer that the oracle's instance replaces.
func TestConsumerConfiguration(t *testing.T) {
	user := fullUserConfig(t)
	before := user
	filters := []string{"0.foo.*", "2.foo.*"}

	static := user
	static.Durable = "g-m1"
	static.FilterSubjects = filters
	static.PriorityGroups = []string{"PCG"}
	static.PriorityPolicy = jetstream.PriorityPolicyPinned
	static.PinnedTTL = 4 * time.Second

	elastic := static
	elastic.Durable, elastic.Name = "", "m1"
	elastic.InactiveThreshold = 4 * time.Second

	for _, c := range []struct {
		fl   *flavour
		want jetstream.ConsumerConfig
	}{{staticFlavour, static}, {elasticFlavour, elastic}} {
		got := reflect.ValueOf(deriveConsumer(c.fl, "g", "m1", user, filters))
		want := reflect.ValueOf(c.want)
		for i := range want.NumField() {
			if name := want.Type().Field(i).Name; !reflect.DeepEqual(got.Field(i).Interface(), want.Field(i).Interface()) {
				t.Errorf("%s: %s is %v, want %v", c.fl.kind, name, got.Field(i), want.Field(i))
			}
		}
	}
	if !reflect.DeepEqual(user, before) {
		t.Error("the caller's configuration was changed")
	}
	user.AckWait = 500 * time.Millisecond
	if got := deriveConsumer(elasticFlavour, "g", "m1", user, filters); got.AckWait != user.AckWait || got.InactiveThreshold != user.AckWait || got.PinnedTTL != time.Second {
		t.Errorf("AckWait 500ms: got AckWait %s, inactive threshold %s, pin %s; only the pin has a floor", got.AckWait, got.InactiveThreshold, got.PinnedTTL)
	}
}

// What a user who sets nothing but the acknowledgement policy gets, as it goes to
// the server. A default that changes here changes every deployed consumer.
func TestDefaultConsumerOnTheWire(t *testing.T) {
	user := jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy}
	for _, c := range []struct {
		fl   *flavour
		want string
	}{
		{staticFlavour, `{"durable_name":"g-m1","deliver_policy":"all","ack_policy":"explicit","ack_wait":5000000000,"replay_policy":"instant","num_replicas":0,` +
			`"filter_subjects":["0.\u003e"],"priority_policy":"pinned_client","priority_timeout":5000000000,"priority_groups":["PCG"]}`},
		{elasticFlavour, `{"name":"m1","deliver_policy":"all","ack_policy":"explicit","ack_wait":5000000000,"replay_policy":"instant","inactive_threshold":5000000000,"num_replicas":0,` +
			`"filter_subjects":["0.\u003e"],"priority_policy":"pinned_client","priority_timeout":5000000000,"priority_groups":["PCG"]}`},
	} {
		var got, want map[string]any
		if err := json.Unmarshal(mustJSON(t, deriveConsumer(c.fl, "g", "m1", user, []string{"0.>"})), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v\nwant %v", c.fl.kind, got, want)
		}
	}
}

// A field that differs from what the oracle sends makes its next create fail
// (10058), at every worker start. Limits go as given: 0 and -1 are different
// requests. Storage and replicas are the origin's, and nothing else of it.
func TestGroupStreamConfiguration(t *testing.T) {
	c := &ElasticConsumerGroupConfig{
		MaxMembers:          3,
		PartitioningFilters: []PartitioningFilter{{"foo.*", []int{1}}, {"bar.*.>", nil}},
		MaxBufferedMsgs:     -1,
		Members:             []string{"m1"},
	}
	origin := jetstream.StreamConfig{
		Name: "S", Subjects: []string{"foo.*"}, Replicas: 3, Storage: jetstream.MemoryStorage, Retention: jetstream.InterestPolicy,
		MaxAge: time.Hour, MaxMsgs: 7, Metadata: map[string]string{"a": "b"}, Compression: jetstream.S2Compression, NoAck: true,
	}
	want := jetstream.StreamConfig{
		Name: "S-g", Retention: jetstream.WorkQueuePolicy, Replicas: 3, Storage: jetstream.MemoryStorage, MaxMsgs: -1, Discard: jetstream.DiscardNew, AllowDirect: true,
		Sources: []*jetstream.StreamSource{{Name: "S", SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: "foo.*", Destination: "{{Partition(3,1)}}.foo.{{Wildcard(1)}}"},
			{Source: "bar.*.>", Destination: "{{Partition(3)}}.bar.{{Wildcard(1)}}.>"},
		}}},
	}
	if got := deriveGroupStream("S", "g", c, origin); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, filters := range [][]PartitioningFilter{nil, {}} {
		c := &ElasticConsumerGroupConfig{MaxMembers: 4, PartitioningFilters: filters, MaxBufferedBytes: 9}
		got := deriveGroupStream("S", "g", c, jetstream.StreamConfig{Replicas: 1})
		all := []jetstream.SubjectTransformConfig{{Source: ">", Destination: "{{Partition(4)}}.>"}}
		if !slices.Equal(got.Sources[0].SubjectTransforms, all) || got.MaxBytes != 9 || got.MaxMsgs != 0 {
			t.Errorf("without filters: %+v", got)
		}
	}
}

// Adopting or deleting a stream that only has the right name destroys a user's
// data, as the oracle does. Refusing one that another implementation made, or
// that an operator edited, locks a working group.
func TestIsGroupStream(t *testing.T) {
	c := &ElasticConsumerGroupConfig{MaxMembers: 3, PartitioningFilters: []PartitioningFilter{{"foo.*", []int{1}}, {"Bar.*.>", nil}}}
	type change func(*jetstream.StreamConfig)
	transform := func(i int, dest string) change {
		return func(sc *jetstream.StreamConfig) { sc.Sources[0].SubjectTransforms[i].Destination = dest }
	}
	for _, test := range []struct {
		name          string
		change        change
		ours, anyones bool // with the configuration, and without one
	}{
		{"as created", func(*jetstream.StreamConfig) {}, true, true},
		{"lower-case functions", func(sc *jetstream.StreamConfig) {
			transform(0, "{{partition(3,1)}}.foo.{{wildcard(1)}}")(sc)
			transform(1, "{{partition(3)}}.Bar.{{wildcard(1)}}.>")(sc)
		}, true, true},
		{"discard old, no direct get", func(sc *jetstream.StreamConfig) { sc.Discard, sc.AllowDirect = jetstream.DiscardOld, false }, true, true},
		{"edited by an operator", func(sc *jetstream.StreamConfig) {
			sc.Metadata, sc.Description, sc.Replicas, sc.MaxMsgs, sc.Storage = map[string]string{"team": "a"}, "x", 5, 10, jetstream.MemoryStorage
		}, true, true},
		{"empty subjects", func(sc *jetstream.StreamConfig) { sc.Subjects = []string{} }, true, true},

		{"other literal case", transform(1, "{{Partition(3)}}.bar.{{Wildcard(1)}}.>"), false, true},
		{"other partition count", transform(0, "{{Partition(4,1)}}.foo.{{Wildcard(1)}}"), false, true},
		{"other key", transform(0, "{{Partition(3)}}.foo.{{Wildcard(1)}}"), false, true},
		{"other source", func(sc *jetstream.StreamConfig) { sc.Sources[0].SubjectTransforms[0].Source = "fox.*" }, false, true},
		{"fewer transforms", func(sc *jetstream.StreamConfig) {
			sc.Sources[0].SubjectTransforms = sc.Sources[0].SubjectTransforms[:1]
		}, false, true},
		{"no transforms", func(sc *jetstream.StreamConfig) { sc.Sources[0].SubjectTransforms = nil }, false, false},
		{"a transform without partition", transform(0, "foo.{{Wildcard(1)}}"), false, false},
		{"partition not in front", transform(1, "Bar.{{Partition(3)}}.{{Wildcard(1)}}.>"), false, false},

		{"not a work queue", func(sc *jetstream.StreamConfig) { sc.Retention = jetstream.LimitsPolicy }, false, false},
		{"interest retention", func(sc *jetstream.StreamConfig) { sc.Retention = jetstream.InterestPolicy }, false, false},
		{"subjects of its own", func(sc *jetstream.StreamConfig) { sc.Subjects = []string{"jobs.>"} }, false, false},
		{"no source", func(sc *jetstream.StreamConfig) { sc.Sources = nil }, false, false},
		{"a second source", func(sc *jetstream.StreamConfig) {
			sc.Sources = append(sc.Sources, &jetstream.StreamSource{Name: "S"})
		}, false, false},
		{"another origin", func(sc *jetstream.StreamConfig) { sc.Sources[0].Name = "T" }, false, false},
		{"an origin of that name elsewhere", func(sc *jetstream.StreamConfig) {
			sc.Sources[0].External = &jetstream.ExternalStream{APIPrefix: "$JS.hub.API"}
		}, false, false},
		{"a mirror", func(sc *jetstream.StreamConfig) { sc.Mirror = &jetstream.StreamSource{Name: "S"} }, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			sc := deriveGroupStream("S", "g", c, jetstream.StreamConfig{Replicas: 1})
			test.change(&sc)
			if got := isGroupStream("S", c, sc); got != test.ours {
				t.Errorf("with the group's configuration: %v", got)
			}
			if got := isGroupStream("S", nil, sc); got != test.anyones {
				t.Errorf("without one: %v", got)
			}
		})
	}
}

// Folding the whole destination would take foo.* and FOO.* for the same subject;
// folding too little would not know what other implementations write.
func TestFoldFunctions(t *testing.T) {
	for in, want := range map[string]string{
		"{{Partition(3,1)}}.Foo.{{Wildcard(1)}}": "{{partition(3,1)}}.Foo.{{wildcard(1)}}",
		"Foo.>":                                  "Foo.>",
		"{{Partition(3)}}.{{A":                   "{{partition(3)}}.{{A",
		"":                                       "",
		"A{{B}}C{{D}}E":                          "A{{b}}C{{d}}E",
	} {
		if got := foldFunctions(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Whole-subject partitioning needs nats-server 2.12. Missing one such filter
// leaves an orphaned key on 2.11; seeing one where there is none refuses groups
// that a 2.11 server can have.
func TestWholeSubject(t *testing.T) {
	keyed, whole := PartitioningFilter{"foo.*", []int{1}}, PartitioningFilter{"foo.*", []int{}}
	for _, c := range []struct {
		filters []PartitioningFilter
		want    bool
	}{
		{nil, true}, {[]PartitioningFilter{}, true}, {[]PartitioningFilter{keyed}, false}, {[]PartitioningFilter{keyed, whole}, true}, {[]PartitioningFilter{{Filter: ">"}}, true},
	} {
		config := &ElasticConsumerGroupConfig{MaxMembers: 1, PartitioningFilters: c.filters}
		if got := wholeSubject(config); got != c.want {
			t.Errorf("%+v: %v", c.filters, got)
		}
		// What the check is about: a Partition() without tokens on the wire.
		onWire := slices.ContainsFunc(groupTransforms(config), func(tr jetstream.SubjectTransformConfig) bool {
			return strings.Contains(tr.Destination, "{{Partition(1)}}")
		})
		if onWire != c.want {
			t.Errorf("%+v: on the wire %v", c.filters, onWire)
		}
	}
}
