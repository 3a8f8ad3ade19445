// Package provider is the Terraform provider pcgroups: it declares partitioned
// consumer groups on NATS JetStream and their membership.
//
// Data flows one way: a Terraform model (…_resource.go) becomes a pcgroups
// configuration (convert.go), which package pcgroups writes; what it answers
// becomes state again, or a diagnostic (diagnostics.go). The provider keeps no
// knowledge of the wire of its own.
package provider

import (
	"context"
	"os"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Address is the provider's address in Terraform's registry.
const Address = "registry.terraform.io/nats-pcgroups/pcgroups"

var (
	_ fwprovider.ProviderWithConfigValidators = (*Provider)(nil)
	_ fwprovider.ProviderWithFunctions        = (*Provider)(nil)
	_ fwprovider.ProviderWithActions          = (*Provider)(nil)
	_ fwprovider.ProviderWithListResources    = (*Provider)(nil)
)

// Provider implements the Terraform provider.
type Provider struct {
	version string

	mu      sync.Mutex
	clients []*client // one for each Configure, to be closed with the provider
}

// New returns a provider that calls itself by the version.
func New(version string) *Provider { return &Provider{version: version} }

// Close closes the connections of the provider. Terraform has no call for it:
// its end is the end of the process.
func (p *Provider) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.close()
	}
	p.clients = nil
}

// Metadata names the provider.
func (p *Provider) Metadata(_ context.Context, _ fwprovider.MetadataRequest, resp *fwprovider.MetadataResponse) {
	resp.TypeName = "pcgroups"
	resp.Version = p.version
}

// Configure prepares the shared connection without opening it, so that a plan
// which needs no server needs no connection, and so that settings which are
// known only after apply stop nothing but what really needs them.
func (p *Provider) Configure(ctx context.Context, req fwprovider.ConfigureRequest, resp *fwprovider.ConfigureResponse) {
	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	s, diags := model.settings(ctx, os.Getenv)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	s.name = "terraform-provider-pcgroups/" + p.version
	c := newClient(s)

	p.mu.Lock()
	p.clients = append(p.clients, c)
	p.mu.Unlock()

	resp.ResourceData = c
	resp.DataSourceData = c
	resp.ListResourceData = c
	resp.ActionData = c
}

// Resources lists the resource types.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newElasticGroup, newStaticGroup, newElasticMembership, newElasticMember}
}

// DataSources lists the data source types.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newElasticGroupData, newStaticGroupData, newGroupsData, newGroupStatusData}
}

// Functions lists the functions.
func (p *Provider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newTransformDestination, newPartitionFor, newAssignmentsFunction}
}

// Actions lists the actions, which Terraform 1.14 invokes.
func (p *Provider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{newStepDown}
}

// ListResources lists the resource types that Terraform 1.14 can list.
func (p *Provider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{newElasticGroupList, newStaticGroupList}
}
