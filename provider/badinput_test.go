package provider

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: input that is known only when it is applied getting to the server,
// although the same would have been refused by the plan.
func TestAccGroups_badWhenKnown(t *testing.T) {
	w := newWorld(t)
	later := func(input string) string {
		return "resource \"terraform_data\" \"later\" {\n  input = " + input + "\n}\n"
	}
	const value = "terraform_data.later.output"
	var steps []resource.TestStep
	for _, tc := range []struct{ input, config, says string }{
		{`"b.c"`, w.elastic(`max_members = 4`, `members = ["a", `+value+`]`), `member: "b.c" contains a dot`},
		{`0`, w.elastic(`max_members = ` + value), `max_members: must be at least 1`},
		{`"x y.*"`, w.elastic(`max_members = 4`, `partitioning_filters = [{ filter = `+value+` }]`), `"x y.*" contains a space`},
		{`5`, w.elastic(`max_members = 4`, `member_mappings = { a = [0, 1, 2, 3, `+value+`] }`), `partition 5 of member "a" is out of range`},
		{`"b.c"`, w.static(`max_members = 4`, `members = ["a", `+value+`]`), `member: "b.c" contains a dot`},
		{`"a"`, w.static(`max_members = 4`, `filters = ["parts.*", "parts.${`+value+`}"]`, `members = ["a"]`), `"parts.*" and "parts.a" overlap`},
		{`"a*"`, w.config(memberBlock("${" + value + "}")), `member: "a*" contains a wildcard`},
		{`"a b"`, w.config(membershipBlock(`members = [` + value + `]`)), `member: "a b" contains a space`},
	} {
		steps = append(steps, resource.TestStep{
			PreConfig: func() { t.Log(tc.says) }, Config: tc.config + later(tc.input), ExpectError: says(tc.says),
		}, resource.TestStep{Config: w.config("")}) // so that the next value is not known either
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
	w.must(w.untouched(nil))
}

// Prevents: a number that is not whole being called a bug of the provider, or
// passing for one that is not known yet; also where it is known only when it is
// applied.
func TestAccGroups_notWhole(t *testing.T) {
	w := newWorld(t)
	const fraction = `It must be a whole number, and 4.5 is not. If it was calculated, use floor or ceil.`
	later := "resource \"terraform_data\" \"later\" {\n  input = 9 / 2\n}\n"
	var steps []resource.TestStep
	refuse := func(config, text string) {
		steps = append(steps, resource.TestStep{PreConfig: func() { t.Log(text) }, Config: config, ExpectError: says(text)})
	}
	// One error, and nothing of the framework's own.
	only := func(config, text string) {
		refuse(config, text)
		steps[len(steps)-1].ExpectError = regexp.MustCompile(`\A[^E]*Error running[^E]*Error: Not a whole number[^E]*` + says(text).String() + `[^E]*\z`)
	}
	only(w.elastic(`max_members = 9 / 2`), fraction)
	only(w.static(`max_members = 4.5`, `members = ["a"]`), fraction)
	only(w.elastic(`max_members = 4`, `max_buffered_msgs = 4.5`), fraction)
	only(w.elastic(`max_members = 4`, `max_buffered_bytes = pow(10, 30)`), `1e+30 is too large.`)
	only(strings.Replace(w.elastic(`max_members = 4`), `provider "pcgroups" {`, "provider \"pcgroups\" {\n  max_retries = 4.5", 1), fraction)
	refuse(w.config(`output "o" { value = provider::pcgroups::assignments(["a"], 4.5) }`), fraction)
	refuse(w.elastic(`max_members = terraform_data.later.output`)+later, fraction)
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
	w.must(w.untouched(nil))
}

// Prevents: a filter that no message can match, or a stream that does not exist,
// being found out when messages are missed; and a plan that complains of what it
// can not know.
func TestElasticGroup_checkStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []jetstream.StreamConfig{
		{Name: "MOVED", Subjects: []string{"in.*", "in.all.>"}, SubjectTransform: &jetstream.SubjectTransformConfig{Source: "in.*", Destination: "out.{{wildcard(1)}}.x"}},
		{Name: "SPLIT", Subjects: []string{"split.*"}, SubjectTransform: &jetstream.SubjectTransformConfig{Source: "split.*", Destination: "out.{{split(1,-)}}"}},
		{Name: "SOURCED", Sources: []*jetstream.StreamSource{{Name: "ORDERS"}}},
	} {
		_, err := w.js.CreateStream(t.Context(), c)
		w.must(err)
	}
	down := natstest.Start(t)
	address := down.URL()
	down.Shutdown()
	unknown := testClient(t, w.URL())
	unknown.settings.unknown = []string{"servers"}
	for _, tc := range []struct {
		stream, filter, want string
		client               *client
	}{
		{stream: "ORDERS"},
		{stream: "ORDERS", filter: "orders.*"},
		{stream: "ORDERS", filter: "orders.>"},
		{stream: "ORDERS", filter: "*.eu.*"},
		{stream: "ORDERS", filter: ">"},
		{stream: "ORDERS", filter: "order.*", want: `The filter "order.*" and the subjects of stream ORDERS (orders.>) have nothing in common`},
		{stream: "ORDERS", filter: "*", want: `The filter "*" and the subjects`},
		{stream: "PARTS", filter: "parts.*", want: `the subjects of stream PARTS (*.parts.*) have nothing in common`}, // as they are when the transform is through
		{stream: "PARTS", filter: "*.parts.*"},
		{stream: "MOVED", filter: "out.*.x"},
		{stream: "MOVED", filter: "out.*.y", want: `(in.all.>, out.*.x) have nothing in common`},
		{stream: "SPLIT", filter: "else.*"},
		{stream: "SOURCED", filter: "else.*"},
		{stream: "NOPE", filter: "orders.*", want: `There is no stream "NOPE" in this account now. If this plan creates it and stream refers to it, all is well. Otherwise the apply of elastic consumer group NOPE/cg will fail`},
		{stream: "NOPE", filter: "orders.*", client: testClient(t, address)},
		{stream: "NOPE", filter: "orders.*", client: unknown},
	} {
		c := tc.client
		if c == nil {
			c = testClient(t, w.URL())
		}
		r := elasticGroupResource{groupResource{kind: "elastic", client: c}}
		var filters []pcgroups.PartitioningFilter
		if tc.filter != "" {
			filters = []pcgroups.PartitioningFilter{{Filter: tc.filter}}
		}
		plan := &elasticGroupModel{Stream: types.StringValue(tc.stream), Name: types.StringValue("cg"), PartitioningFilters: filtersList(filters)}
		var diags diag.Diagnostics
		r.checkStream(t.Context(), plan, &diags)
		switch {
		case tc.want == "" && len(diags) != 0, tc.want != "" && (len(diags) != 1 || diags.WarningsCount() != 1 || !strings.Contains(diags[0].Detail(), tc.want)):
			t.Errorf("%s of %s: %v, want %q", tc.filter, tc.stream, diags, tc.want)
		}
	}
}

// Prevents: an id, or a name, that can not be anything's being looked for, and
// reported as if it had been deleted; an empty one ending in a report of a bug.
func TestImport_badIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	provider := configured(t, w)
	for kind, ids := range map[string]map[string]string{
		"pcgroups_elastic_group": {
			"": "The import id is empty.", "a": `"a" is not of the form stream/group, such as ORDERS/workers`, "a/b/c": `"b/c" contains a path separator`,
			"a//b": `"/b" contains a path separator`, "a.b/c": `"a.b" contains a dot`, " a/b": `" a" contains a space`, "a/*": `"*" contains a wildcard`,
		},
		"pcgroups_static_group":       {"": "The import id is empty.", "a/b.c": `"b.c" contains a dot`},
		"pcgroups_elastic_membership": {"": "The import id is empty.", "a/b/c": `"b/c" contains a path separator`},
		"pcgroups_elastic_member": {
			"": "The import id is empty.", "a/b": "stream/group/member", "a/b/c.d": `"c.d" contains a dot`, "a/b/c/d": `"b/c" contains a path separator`, "a//c": "stream/group/member",
		},
	} {
		for id, want := range ids {
			resp, err := provider.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: kind, ID: id})
			if err != nil || len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary != "Invalid import id" || !strings.Contains(resp.Diagnostics[0].Detail, want) {
				t.Errorf("%s %q: %v, %v, want %q", kind, id, err, texts(resp.Diagnostics), want)
			}
		}
	}
}

// Prevents: a data source that looks for what can not exist.
func TestAccDataSource_badInput(t *testing.T) {
	w := newWorld(t)
	var steps []resource.TestStep
	for block, want := range map[string]string{
		"data \"pcgroups_elastic_group\" \"x\" {\n stream = \"O.S\"\n name = \"a\"\n}\n":                         `stream: "O.S" contains a dot`,
		"data \"pcgroups_static_group\" \"x\" {\n stream = \"ORDERS\"\n name = \"\"\n}\n":                        `name: must not be empty`,
		"data \"pcgroups_group_status\" \"x\" {\n stream = \"ORDERS\"\n group = \">\"\n kind = \"static\"\n}\n":  `group: ">" contains a wildcard`,
		"data \"pcgroups_group_status\" \"x\" {\n stream = \"ORDERS\"\n group = \"a\"\n kind = \"elastic\"\n}\n": `Could not read elastic consumer group ORDERS/a: consumer group not found. Check its stream and its name`,
		"data \"pcgroups_groups\" \"x\" {\n stream = \"*\"\n}\n":                                                 `stream: "*" contains a wildcard`,
		"data \"pcgroups_groups\" \"x\" {\n kind = \"other\"\n}\n":                                               `value must be one of: ["elastic" "static"]`,
	} {
		steps = append(steps, resource.TestStep{Config: w.config(block), PlanOnly: true, ExpectError: says(want)})
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
}

func texts(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diags {
		out = append(out, fmt.Sprintf("%s: %s", d.Summary, d.Detail))
	}
	return out
}

// Prevents: a plan of many new groups that waits for a dead server once for each.
func TestGlance_givesUp(t *testing.T) {
	t.Parallel()
	down := natstest.Start(t)
	c := testClient(t, down.URL())
	down.Shutdown()
	r := elasticGroupResource{groupResource{kind: "elastic", client: c}}
	plan := &elasticGroupModel{Stream: types.StringValue("ORDERS"), Name: types.StringValue("cg"), PartitioningFilters: filtersList(nil)}
	var diags diag.Diagnostics
	r.checkStream(t.Context(), plan, &diags)
	first := c.last
	r.checkStream(t.Context(), plan, &diags)
	if first == nil || c.last != first || len(diags) != 0 {
		t.Errorf("attempts %p and %p, %v", first, c.last, diags)
	}
}
