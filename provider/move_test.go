package provider

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	fwresource "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// entryProvider stands for nats-io/jetstream, of which it has the one resource
// that groups are moved from. It writes nothing.
type entryProvider struct{ t *testing.T }

func (entryProvider) Metadata(_ context.Context, _ fwprovider.MetadataRequest, resp *fwprovider.MetadataResponse) {
	resp.TypeName = "jetstream"
}
func (entryProvider) Schema(context.Context, fwprovider.SchemaRequest, *fwprovider.SchemaResponse) {}
func (entryProvider) Configure(context.Context, fwprovider.ConfigureRequest, *fwprovider.ConfigureResponse) {
}
func (entryProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }
func (p entryProvider) Resources(context.Context) []func() fwresource.Resource {
	return []func() fwresource.Resource{func() fwresource.Resource { return entry(p) }}
}

type entry struct{ t *testing.T }

func (entry) Metadata(_ context.Context, _ fwresource.MetadataRequest, resp *fwresource.MetadataResponse) {
	resp.TypeName = "jetstream_kv_entry"
}

func (entry) Schema(_ context.Context, _ fwresource.SchemaRequest, resp *fwresource.SchemaResponse) {
	text := schema.StringAttribute{Required: true}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"bucket": text, "key": text, "value": text}}
}

func (entry) Create(_ context.Context, req fwresource.CreateRequest, resp *fwresource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
}
func (entry) Read(context.Context, fwresource.ReadRequest, *fwresource.ReadResponse) {}
func (entry) Update(_ context.Context, req fwresource.UpdateRequest, resp *fwresource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}
func (e entry) Delete(context.Context, fwresource.DeleteRequest, *fwresource.DeleteResponse) {
	e.t.Error("the entry was deleted, and with it the group")
}

// Prevents: a group that was written with another provider being made anew when
// a moved block takes it over, or having to be imported and forgotten by hand.
func TestAccElasticGroup_moved(t *testing.T) {
	w := newWorld(t)
	c, err := pcgroups.CreateElastic(t.Context(), w.js, "ORDERS", "cg", 4, nil, -1, -1, pcgroups.WithMembers("a"))
	w.must(err)
	value, revision := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg")
	const both = `terraform {
  required_providers {
    jetstream = { source = "nats-pcgroups/jetstream" }
    pcgroups  = { source = "nats-pcgroups/pcgroups" }
  }
}
`
	providers := w.providers()
	providers["jetstream"] = providerserver.NewProtocol6WithError(entryProvider{t})
	group := groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`, `members = ["a"]`})
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: both + "resource \"jetstream_kv_entry\" \"g\" {\n  bucket = \"elastic-consumer-groups\"\n  key = \"ORDERS.cg\"\n  value = <<EOT\n" + value + "\nEOT\n}\n"},
			{
				Config:           both + providerBlock(w.URL()) + group + "moved {\n  from = jetstream_kv_entry.g\n  to = pcgroups_elastic_group.g\n}\n",
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: checks(will(elasticAddr, plancheck.ResourceActionNoop))},
			},
			{
				PreConfig: func() {
					if _, now := w.stored(pcgroups.ElasticBucket, "ORDERS", "cg"); now != revision || c.Revision() != revision {
						t.Errorf("the move wrote revision %d after %d", now, revision)
					}
				},
				Config: both + providerBlock(w.URL()) + group, PlanOnly: true,
			},
		},
	})
}
