package provider

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The folders of testdata/state hold states as users have them, for each version
// of the schemas one: v0, and when a schema gets version 1, v1 beside it. A state
// that was released is never changed.
const (
	stateFolder  = "testdata/state"
	newestStates = stateFolder + "/v0"
)

var recordStates = flag.Bool("record-states", false, "record the states of the newest schema version; only before its release")

// recorded is a resource in Terraform's state file. What other versions of
// Terraform write beside this does not reach the provider.
type recorded struct {
	Type            string          `json:"type"`
	Name            string          `json:"name"`
	SchemaVersion   int64           `json:"schema_version"`
	Attributes      json.RawMessage `json:"attributes"`
	IdentityVersion int64           `json:"identity_schema_version"`
	Identity        json.RawMessage `json:"identity,omitempty"`
}

// Prevents: upgrade tests on states that no user has, because the schema has
// changed since they were recorded. A state that changes without a new schema
// version must still be readable in its old form: keep the recorded file under
// another name, and record a new one.
func TestAccUpgrade_statesAreRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, err := os.ReadFile(newestStates + "/main.tf")
	w.must(err)
	m := newModule(t, string(text), "NATS_URL="+w.URL())
	for _, args := range [][]string{{"apply", "-no-color", "-input=false", "-auto-approve"}, {"plan", "-no-color", "-input=false", "-detailed-exitcode"}} {
		cmd, out := m.command(args...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	text, err = os.ReadFile(filepath.Join(m.dir, "terraform.tfstate"))
	w.must(err)
	var state struct {
		Resources []struct {
			Type, Name string
			Instances  []recorded
		}
	}
	w.must(json.Unmarshal(text, &state))
	if len(state.Resources) == 0 {
		t.Fatal("nothing was applied")
	}
	for _, resource := range state.Resources {
		is := resource.Instances[0]
		is.Type, is.Name = resource.Type, resource.Name
		path := fmt.Sprintf("%s/%s.%s.json", newestStates, is.Type, is.Name)
		if *recordStates {
			if len(is.Identity) == 0 {
				t.Fatal("this Terraform writes no identities; record with 1.12 or newer (TF_ACC_TERRAFORM_PATH)")
			}
			text, err := json.MarshalIndent(is, "", "  ")
			w.must(err)
			w.must(os.WriteFile(path, append(text, '\n'), 0o644))
			continue
		}
		had := readRecorded(t, path)
		if had.SchemaVersion != is.SchemaVersion || !sameJSON(t, had.Attributes, is.Attributes) {
			t.Errorf("the state of %s.%s is now version %d\n%s\nand not, as recorded in %s, version %d\n%s",
				is.Type, is.Name, is.SchemaVersion, is.Attributes, path, had.SchemaVersion, had.Attributes)
		}
		// Terraform before 1.12 has no identities.
		if len(is.Identity) != 0 && (had.IdentityVersion != is.IdentityVersion || !sameJSON(t, had.Identity, is.Identity)) {
			t.Errorf("the identity of %s.%s is now version %d %s, recorded is version %d %s", is.Type, is.Name, is.IdentityVersion, is.Identity, had.IdentityVersion, had.Identity)
		}
	}
}

// Prevents: a change of a schema that makes states of an earlier version
// unreadable, loses something from them, or makes the next plan change or replace
// what nobody has changed.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asRecorded()
	server := configured(t, w)
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	noProblems(t, schemas.Diagnostics, err)
	identities, err := server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	noProblems(t, identities.Diagnostics, err)
	files, err := filepath.Glob(stateFolder + "/*/*.json")
	w.must(err)
	tested := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, stateFolder+"/"), func(t *testing.T) {
			r := readRecorded(t, file)
			schema, ok := schemas.ResourceSchemas[r.Type]
			if !ok {
				t.Fatalf("there is no resource %s any more", r.Type)
			}
			tested[r.Type] = true
			u := upgrade{t, server, r, schema.ValueType(), identities.IdentitySchemas[r.Type]}
			state, identity := u.state(), u.identity()
			if r.SchemaVersion == schema.Version {
				u.sameAsRecorded(state)
			}
			u.unchanged(schema, state, identity)
		})
	}
	for name := range schemas.ResourceSchemas {
		if !tested[name] {
			t.Errorf("no state of %s is recorded", name)
		}
	}
}

// asRecorded makes what the recorded states are of.
func (w *world) asRecorded() {
	w.t.Helper()
	elastic := func(name string, partitions uint, filters []pcgroups.PartitioningFilter, msgs, size int64, opts ...pcgroups.CreateOption) {
		w.t.Helper()
		_, err := pcgroups.CreateElastic(w.t.Context(), w.js, "ORDERS", name, partitions, filters, msgs, size, opts...)
		w.must(err)
	}
	mapping := func(member string, partitions ...int) pcgroups.MemberMapping {
		return pcgroups.MemberMapping{Member: member, Partitions: partitions}
	}
	elastic("least", 4, nil, -1, -1, pcgroups.WithMemberMappings(mapping("a", 0, 1), mapping("b", 2, 3)))
	elastic("members", 4, []pcgroups.PartitioningFilter{{Filter: "orders.*", PartitioningWildcards: []int{1}}}, 1000, 1<<20, pcgroups.WithMembers("a", "b"))
	elastic("mappings", 2, []pcgroups.PartitioningFilter{{Filter: "orders.*.>"}}, -1, -1, pcgroups.WithMemberMappings(mapping("a", 1), mapping("b", 0)))
	elastic("membership", 4, nil, -1, -1, pcgroups.WithMembers("a", "b"))
	elastic("member", 4, nil, -1, -1, pcgroups.WithMembers("a"))
	_, err := pcgroups.CreateStatic(w.t.Context(), w.js, "PARTS", "least", 4, []string{}, []string{"b", "a"}, nil)
	w.must(err)
	_, err = pcgroups.CreateStatic(w.t.Context(), w.js, "PARTS", "mappings", 4, []string{"parts.*"}, nil, []pcgroups.MemberMapping{mapping("a", 1, 2), mapping("b", 0, 3)})
	w.must(err)
}

// upgrade is a recorded resource on its way to the present schema, by the calls
// that Terraform makes.
type upgrade struct {
	t        *testing.T
	server   tfprotov6.ProviderServer
	recorded recorded
	value    tftypes.Type
	id       *tfprotov6.ResourceIdentitySchema
}

func (u upgrade) state() *tfprotov6.DynamicValue {
	u.t.Helper()
	resp, err := u.server.UpgradeResourceState(u.t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: u.recorded.Type, Version: u.recorded.SchemaVersion, RawState: &tfprotov6.RawState{JSON: u.recorded.Attributes},
	})
	noProblems(u.t, resp.Diagnostics, err)
	return resp.UpgradedState
}

// identity is asked of the provider only if its version is another one, unlike
// the state.
func (u upgrade) identity() *tfprotov6.ResourceIdentityData {
	u.t.Helper()
	raw := &tfprotov6.RawState{JSON: u.recorded.Identity}
	if u.recorded.IdentityVersion == u.id.Version {
		value, err := raw.Unmarshal(u.id.ValueType())
		noProblems(u.t, nil, err)
		id, err := tfprotov6.NewDynamicValue(u.id.ValueType(), value)
		noProblems(u.t, nil, err)
		return &tfprotov6.ResourceIdentityData{IdentityData: &id}
	}
	resp, err := u.server.UpgradeResourceIdentity(u.t.Context(), &tfprotov6.UpgradeResourceIdentityRequest{
		TypeName: u.recorded.Type, Version: u.recorded.IdentityVersion, RawIdentity: raw,
	})
	noProblems(u.t, resp.Diagnostics, err)
	return resp.UpgradedIdentity
}

// sameAsRecorded is strict where Terraform is not: it leaves out attributes that
// the schema does not have.
func (u upgrade) sameAsRecorded(state *tfprotov6.DynamicValue) {
	u.t.Helper()
	want, err := (&tfprotov6.RawState{JSON: u.recorded.Attributes}).Unmarshal(u.value)
	if err != nil {
		u.t.Fatalf("the schema has another form, but not another version: %v", err)
	}
	u.same("upgraded to", u.known(state, u.value), want)
}

// unchanged reads the resource and plans it with the configuration that it was
// made from.
func (u upgrade) unchanged(schema *tfprotov6.Schema, state *tfprotov6.DynamicValue, identity *tfprotov6.ResourceIdentityData) {
	u.t.Helper()
	ctx := u.t.Context()
	read, err := u.server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: u.recorded.Type, CurrentState: state, CurrentIdentity: identity})
	noProblems(u.t, read.Diagnostics, err)
	prior := u.known(read.NewState, u.value)
	u.same("read as", prior, u.known(state, u.value))
	u.same("read with the identity", u.known(read.NewIdentity.IdentityData, u.id.ValueType()), u.known(identity.IdentityData, u.id.ValueType()))
	plan, err := u.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: u.recorded.Type, PriorState: read.NewState, ProposedNewState: read.NewState,
		Config: u.config(schema, prior), PriorPrivate: read.Private, PriorIdentity: read.NewIdentity,
	})
	noProblems(u.t, plan.Diagnostics, err)
	u.same("planned as", u.known(plan.PlannedState, u.value), prior)
	if len(plan.RequiresReplace) != 0 {
		u.t.Errorf("it would be replaced because of %v", plan.RequiresReplace)
	}
}

// same tells the attributes that differ, rather than both of the values.
func (u upgrade) same(what string, got, want tftypes.Value) {
	u.t.Helper()
	if got.Equal(want) {
		return
	}
	diffs, err := got.Diff(want)
	noProblems(u.t, nil, err)
	for _, d := range diffs {
		if len(d.Path.Steps()) == 1 || len(diffs) == 1 {
			u.t.Errorf("%s another one: %s is %v, want %v", what, d.Path, d.Value1, d.Value2)
		}
	}
}

// config is a configuration that leads to the state: all of it but what only the
// provider sets, and for a resource called "least" but what it sets if nobody
// does.
func (u upgrade) config(schema *tfprotov6.Schema, state tftypes.Value) *tfprotov6.DynamicValue {
	u.t.Helper()
	var shared map[string]tftypes.Value
	if err := state.As(&shared); err != nil {
		u.t.Fatal(err)
	}
	values := maps.Clone(shared)
	for _, a := range schema.Block.Attributes {
		if a.Computed && (!a.Optional || u.recorded.Name == "least") {
			values[a.Name] = tftypes.NewValue(a.ValueType(), nil)
		}
	}
	config, err := tfprotov6.NewDynamicValue(u.value, tftypes.NewValue(u.value, values))
	noProblems(u.t, nil, err)
	return &config
}

func (u upgrade) known(v *tfprotov6.DynamicValue, is tftypes.Type) tftypes.Value {
	u.t.Helper()
	got, err := v.Unmarshal(is)
	noProblems(u.t, nil, err)
	return got
}

func readRecorded(t *testing.T, path string) recorded {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (to record it: -record-states)", err)
	}
	var r recorded
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var out [2]bytes.Buffer
	for i, text := range [][]byte{a, b} {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&out[i]).Encode(v); err != nil { // keys in order
			t.Fatal(err)
		}
	}
	return bytes.Equal(out[0].Bytes(), out[1].Bytes())
}
