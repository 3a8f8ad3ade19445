package provider

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// configured is a provider as Terraform speaks to it, for what the Terraform
// versions that tests run with can not do yet.
func configured(t *testing.T, w *world) tfprotov6.ProviderServer {
	t.Helper()
	return configuredFor(t, w.URL())
}

// configuredFor has more arguments than the servers.
func configuredFor(t testing.TB, servers string, more ...string) tfprotov6.ProviderServer {
	t.Helper()
	p := New("test")
	t.Cleanup(p.Close)
	server := providerserver.NewProtocol6(p)()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	noProblems(t, schemas.Diagnostics, err)
	objectType, ok := schemas.Provider.ValueType().(tftypes.Object)
	if !ok {
		t.Fatalf("the provider block is a %v", schemas.Provider.ValueType())
	}
	values := make(map[string]tftypes.Value)
	for name, attribute := range objectType.AttributeTypes {
		values[name] = tftypes.NewValue(attribute, nil)
	}
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		values[name] = tftypes.NewValue(tftypes.String, value)
	}
	values["servers"] = tftypes.NewValue(objectType.AttributeTypes["servers"], []tftypes.Value{tftypes.NewValue(tftypes.String, servers)})
	block, err := tfprotov6.NewDynamicValue(objectType, tftypes.NewValue(objectType, values))
	noProblems(t, nil, err)
	resp, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &block})
	noProblems(t, resp.Diagnostics, err)
	return server
}

func noProblems(t testing.TB, diags []*tfprotov6.Diagnostic, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diags {
		t.Fatalf("%s: %s", d.Summary, d.Detail)
	}
}

// Prevents: the identity, which Terraform 1.12 imports by and lists with, not
// leading to the group, or not being the same after the read.
func TestGroups_importByIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1, pcgroups.WithMembers("a"))
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "PARTS", "cg", 4, nil, []string{"a"}, nil)
	w.must(err)
	server := configured(t, w)
	for kind, stream := range map[string]string{"pcgroups_elastic_group": "ORDERS", "pcgroups_static_group": "PARTS"} {
		idType := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"stream": tftypes.String, "name": tftypes.String}}
		id, err := tfprotov6.NewDynamicValue(idType, tftypes.NewValue(idType, map[string]tftypes.Value{
			"stream": tftypes.NewValue(tftypes.String, stream), "name": tftypes.NewValue(tftypes.String, "cg"),
		}))
		w.must(err)
		imported, err := server.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{
			TypeName: kind, Identity: &tfprotov6.ResourceIdentityData{IdentityData: &id},
		})
		noProblems(t, imported.Diagnostics, err)
		resource := imported.ImportedResources[0]
		read, err := server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{
			TypeName: kind, CurrentState: resource.State, CurrentIdentity: resource.Identity, Private: resource.Private,
		})
		noProblems(t, read.Diagnostics, err)
		got, err := read.NewIdentity.IdentityData.Unmarshal(idType)
		w.must(err)
		want, err := id.Unmarshal(idType)
		w.must(err)
		if !got.Equal(want) {
			t.Errorf("%s: identity %v after the read, want %v", kind, got, want)
		}
		if !strings.Contains(string(read.NewState.MsgPack), "max_members") {
			t.Errorf("%s: nothing was read", kind)
		}
	}
}

// memory is private state.
type memory map[string][]byte

func (m memory) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) { return m[key], nil }
func (m memory) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	m[key] = value
	return nil
}

// Prevents: a destroy that was consented to being silent about what it costs, a
// replacement being silent about what will be delivered again, and a destroy
// that costs nothing being noisy.
func TestGuardPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := pcgroups.CreateElastic(ctx, w.js, "ORDERS", "cg", 4, nil, -1, -1, pcgroups.WithMembers("m1"))
	w.must(err)
	c := newClient(settings{servers: []string{w.URL()}, connectTimeout: time.Second, requestTimeout: time.Second})
	t.Cleanup(c.close)
	r := groupResource{kind: "elastic", client: c}
	plan := func(force types.Bool, replacing ...string) diag.Diagnostics {
		var diags diag.Diagnostics
		r.guardPlan(ctx, groupRef{kind: "elastic", stream: "ORDERS", name: "cg"}, replacing, force, func(_ context.Context, d time.Duration) (time.Duration, diag.Diagnostics) { return d, nil }, memory{}, &diags)
		return diags
	}
	if d := plan(types.BoolNull()); len(d) != 0 {
		t.Errorf("an empty idle group: %v", d)
	}
	w.buffered(2, 2)
	if d := plan(types.BoolNull()); d.ErrorsCount() != 1 {
		t.Errorf("without consent: %v", d)
	}
	for _, force := range []bool{true, false} {
		r.client.settings.forceDestroy = !force
		d := plan(types.BoolValue(force))
		if got := d.HasError(); got == force {
			t.Errorf("force_destroy = %v with the provider's %v: %v", force, !force, d)
		}
	}
	d := plan(types.BoolValue(true), "name")
	want := "Replacing (because of name) elastic consumer group ORDERS/cg will drop 2 unprocessed messages. The new group starts at the beginning of stream ORDERS: up to 2 messages, processed ones too, will be delivered again."
	if d.HasError() || d.WarningsCount() != 1 || d[0].Detail() != want {
		t.Errorf("with consent: %v, want the warning %q", d, want)
	}
	queue, err := w.js.Stream(ctx, "ORDERS-cg")
	w.must(err)
	w.must(queue.Purge(ctx))
	d = plan(types.BoolNull(), "name")
	if d.HasError() || d.WarningsCount() != 1 || !strings.Contains(d[0].Detail(), "up to 2 messages, processed ones too") {
		t.Errorf("a replacement that only repeats messages: %v", d)
	}
	w.must(w.js.DeleteStream(ctx, "ORDERS-cg"))
	if d := plan(types.BoolNull()); len(d) != 0 {
		t.Errorf("a group that is half gone: %v", d)
	}
}
