package provider

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The tests here speak to the provider as Terraform 1.14 does, whichever version
// is there. Those of Terraform itself are in terraform114_test.go.

// block makes the value of a schema's block from the attributes that are set.
func block(t *testing.T, schema *tfprotov6.Schema, set map[string]string) *tfprotov6.DynamicValue {
	t.Helper()
	object, ok := schema.ValueType().(tftypes.Object)
	if !ok {
		t.Fatalf("the block is a %v", schema.ValueType())
	}
	values := make(map[string]tftypes.Value)
	for name, attribute := range object.AttributeTypes {
		values[name] = tftypes.NewValue(attribute, nil)
		if v, ok := set[name]; ok {
			values[name] = tftypes.NewValue(attribute, v)
		}
	}
	value, err := tfprotov6.NewDynamicValue(object, tftypes.NewValue(object, values))
	noProblems(t, nil, err)
	return &value
}

// invoke runs the action and returns what it told and what went wrong.
func invoke(t *testing.T, provider tfprotov6.ProviderServer, config map[string]string) (progress, problems []string) {
	t.Helper()
	schemas, err := provider.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	noProblems(t, schemas.Diagnostics, err)
	value := block(t, schemas.ActionSchemas["pcgroups_step_down"].Schema, config)
	actions, ok := provider.(tfprotov6.ActionServer)
	if !ok {
		t.Fatal("the provider has no actions")
	}
	stream, err := actions.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{ActionType: "pcgroups_step_down", Config: value})
	noProblems(t, nil, err)
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			for _, d := range e.Diagnostics {
				problems = append(problems, d.Summary+": "+d.Detail)
			}
		}
	}
	return progress, problems
}

// Prevents: an active instance that stays although it was to give way; an error
// that does not say that nobody is there.
func TestStepDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 1, nil, -1, -1, pcgroups.WithMembers("m1"))
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, []string{"m1"}, nil)
	w.must(err)
	provider := configured(t, w)
	config := map[string]string{"stream": "ORDERS", "group": "cg", "kind": "elastic", "member": "m1"}
	if _, problems := invoke(t, provider, config); len(problems) != 1 || !strings.Contains(problems[0], "has no running instance, or its name is misspelt") {
		t.Errorf("nobody there: %v", problems)
	}
	handled := make(chan string, 100)
	for _, instance := range []string{"a", "b"} {
		session, err := pcgroups.ElasticConsume(ctx, w.js, "ORDERS", "cg", "m1", func(m jetstream.Msg) {
			_ = m.Ack()
			handled <- instance
		}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second})
		w.must(err)
		t.Cleanup(session.Stop)
		w.must(session.WaitForConsuming(ctx, true))
	}
	w.publish("orders.1", 1)
	first := <-handled
	progress, problems := invoke(t, provider, config)
	if len(problems) != 0 || len(progress) != 2 || !strings.HasPrefix(progress[0], "Active instance of m1 before: ") || strings.HasSuffix(progress[0], "none") {
		t.Errorf("told %q, problems %q", progress, problems)
	}
	w.publish("orders.1", 1)
	if second := <-handled; second == first {
		t.Errorf("instance %s is still the active one", first)
	}
	config = map[string]string{"stream": "PARTS", "group": "cg", "kind": "static", "member": "m1"}
	if _, problems := invoke(t, provider, config); len(problems) != 1 || !strings.Contains(problems[0], "Could not step down member m1 of static consumer group PARTS/cg") {
		t.Errorf("a static member that never joined: %v", problems)
	}
}

// listed runs a list block and returns the names of what it gives.
func listed(t *testing.T, provider tfprotov6.ProviderServer, kind string, config map[string]string, limit int64, whole bool) []string {
	t.Helper()
	schemas, err := provider.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	noProblems(t, schemas.Diagnostics, err)
	value := block(t, schemas.ListResourceSchemas[kind], config)
	lists, ok := provider.(tfprotov6.ListResourceServer)
	if !ok {
		t.Fatal("the provider has no lists")
	}
	stream, err := lists.ListResource(t.Context(), &tfprotov6.ListResourceRequest{TypeName: kind, Config: value, Limit: limit, IncludeResource: whole})
	noProblems(t, nil, err)
	var names []string
	for result := range stream.Results {
		noProblems(t, result.Diagnostics, nil)
		names = append(names, result.DisplayName)
		id, err := result.Identity.IdentityData.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"stream": tftypes.String, "name": tftypes.String}})
		noProblems(t, nil, err)
		if id.IsNull() {
			t.Errorf("%s has no identity", result.DisplayName)
		}
		if has := result.Resource != nil; has != whole {
			t.Errorf("%s comes with its resource: %v, want %v", result.DisplayName, has, whole)
		}
	}
	return names
}

// Prevents: groups that can not be found to be imported, a limit that is passed
// over, and a list that reads every group although only names are wanted.
func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	provider := configured(t, w)
	if got := listed(t, provider, "pcgroups_elastic_group", nil, 0, true); len(got) != 0 {
		t.Errorf("without any group: %v", got)
	}
	for _, name := range []string{"b", "a"} {
		_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", name, 4, nil, -1, -1, pcgroups.WithMembers("m"))
		w.must(err)
		_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", name, 4, nil, nil, []pcgroups.MemberMapping{{Member: "m", Partitions: []int{0, 1, 2, 3}}})
		w.must(err)
	}
	_, err := pcgroups.CreateElastic(ctx, w.js, "PARTS", "c", 4, nil, -1, -1)
	w.must(err)
	for _, tc := range []struct {
		kind, stream string
		limit        int64
		want         []string
	}{
		{"pcgroups_elastic_group", "", 0, []string{"ORDERS/a", "ORDERS/b", "PARTS/c"}},
		{"pcgroups_elastic_group", "", 2, []string{"ORDERS/a", "ORDERS/b"}},
		{"pcgroups_elastic_group", "PARTS", 0, []string{"PARTS/c"}},
		{"pcgroups_static_group", "", 0, []string{"PARTS/a", "PARTS/b"}},
		{"pcgroups_static_group", "ORDERS", 0, nil},
	} {
		config := map[string]string{}
		if tc.stream != "" {
			config["stream"] = tc.stream
		}
		for _, whole := range []bool{true, false} {
			if got := listed(t, provider, tc.kind, config, tc.limit, whole); !slices.Equal(got, tc.want) {
				t.Errorf("%+v: %v", tc, got)
			}
		}
	}
}

// Prevents: a group that was written with another provider having to be made
// anew; an entry that is no group being taken for one.
func TestMoveState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1, pcgroups.WithMembers("m"))
	w.must(err)
	provider := configured(t, w)
	for _, tc := range []struct {
		name, address, kind, target, state, want string
	}{
		{"a group", "registry.example.com/nats-io/jetstream", "jetstream_kv_entry", "pcgroups_elastic_group", `{"id":"x","bucket":"elastic-consumer-groups","key":"ORDERS.cg","value":"{}","revision":1}`, ""},
		{"of the other kind", "registry.example.com/nats-io/jetstream", "jetstream_kv_entry", "pcgroups_static_group", `{"bucket":"elastic-consumer-groups","key":"ORDERS.cg"}`, `is an entry of bucket "static-consumer-groups"`},
		{"another entry", "registry.example.com/nats-io/jetstream", "jetstream_kv_entry", "pcgroups_elastic_group", `{"bucket":"settings","key":"a"}`, `has the key "a" of bucket "settings"`},
		{"another type", "registry.example.com/nats-io/jetstream", "jetstream_stream", "pcgroups_elastic_group", `{}`, "does not include support"},
		{"another provider", "registry.example.com/hashicorp/null", "jetstream_kv_entry", "pcgroups_elastic_group", `{}`, "does not include support"},
	} {
		moved, err := provider.MoveResourceState(ctx, &tfprotov6.MoveResourceStateRequest{
			SourceProviderAddress: tc.address, SourceTypeName: tc.kind, TargetTypeName: tc.target, SourceState: &tfprotov6.RawState{JSON: []byte(tc.state)},
		})
		w.must(err)
		if tc.want != "" {
			if len(moved.Diagnostics) != 1 || !strings.Contains(moved.Diagnostics[0].Detail, tc.want) {
				t.Errorf("%s: %+v", tc.name, moved.Diagnostics)
			}
			continue
		}
		noProblems(t, moved.Diagnostics, nil)
		read, err := provider.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: tc.target, CurrentState: moved.TargetState, CurrentIdentity: moved.TargetIdentity})
		noProblems(t, read.Diagnostics, err)
		if text := string(read.NewState.MsgPack); !strings.Contains(text, "ORDERS-cg") || !strings.Contains(text, "max_members") {
			t.Errorf("%s: nothing was read: %q", tc.name, text)
		}
	}
}
