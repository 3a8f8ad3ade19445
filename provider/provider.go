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

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/providervalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Address is the provider's address in Terraform's registry.
const Address = "registry.terraform.io/nats-pcgroups/pcgroups"

var _ fwprovider.ProviderWithConfigValidators = (*Provider)(nil)

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

// Schema describes the provider block.
func (p *Provider) Schema(_ context.Context, _ fwprovider.SchemaRequest, resp *fwprovider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages partitioned consumer groups on NATS JetStream. " +
			"Give at most one kind of credentials: `credentials_file`, `credentials`, `user` with `password`, or `token`. " +
			"If the block has none, the environment is asked. One connection is opened when it is first needed, and shared.",
		Attributes: map[string]schema.Attribute{
			"servers": schema.ListAttribute{
				MarkdownDescription: "URLs of the NATS servers, such as `nats://nats-1:4222` or `tls://nats.example.com`. They are tried until one answers. " +
					"Default: the environment variable `NATS_URL` (separated by commas), else `nats://127.0.0.1:4222`.",
				ElementType: types.StringType,
				Optional:    true,
				Validators:  []validator.List{listvalidator.SizeAtLeast(1), listvalidator.ValueStringsAre(serverURL{})},
			},
			"credentials_file": schema.StringAttribute{
				MarkdownDescription: "Path of a credentials file (`.creds`) with a user's JWT and seed; `~` is the home directory. Default: the environment variable `NATS_CREDS`.",
				Optional:            true,
			},
			"credentials": schema.StringAttribute{
				MarkdownDescription: "Text of a credentials file, for when it comes from a secret store.",
				Optional:            true,
				Sensitive:           true,
			},
			"user": schema.StringAttribute{
				MarkdownDescription: "User name. Default: the environment variable `NATS_USER`.",
				Optional:            true,
			},
			"password": schema.StringAttribute{
				MarkdownDescription: "Password of `user`. Default: the environment variable `NATS_PASSWORD`.",
				Optional:            true,
				Sensitive:           true,
			},
			"token": schema.StringAttribute{
				MarkdownDescription: "Authentication token. Default: the environment variable `NATS_TOKEN`.",
				Optional:            true,
				Sensitive:           true,
			},
			"connect_timeout": schema.StringAttribute{
				MarkdownDescription: "How long one server may take to accept the connection, as a duration such as `10s`. Default: `5s`.",
				Optional:            true,
				Validators:          []validator.String{duration{}},
			},
			"request_timeout": schema.StringAttribute{
				MarkdownDescription: "How long one JetStream request may take, as a duration such as `10s`. Default: `5s`. The `timeouts` of a resource bound its whole operation.",
				Optional:            true,
				Validators:          []validator.String{duration{}},
			},
			"force_destroy": schema.BoolAttribute{
				MarkdownDescription: "The `force_destroy` of every group that does not set its own: whether a group may be destroyed or replaced although that loses messages or progress, or stops members that are connected. Default: `false`.",
				Optional:            true,
			},
		},
	}
}

// ConfigValidators refuses more than one kind of credentials.
func (p *Provider) ConfigValidators(context.Context) []fwprovider.ConfigValidator {
	conflict := func(a, b string) fwprovider.ConfigValidator {
		return providervalidator.Conflicting(path.MatchRoot(a), path.MatchRoot(b))
	}
	return []fwprovider.ConfigValidator{
		conflict("credentials_file", "credentials"),
		conflict("credentials_file", "user"), conflict("credentials_file", "password"), conflict("credentials_file", "token"),
		conflict("credentials", "user"), conflict("credentials", "password"), conflict("credentials", "token"),
		conflict("token", "user"), conflict("token", "password"),
	}
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
	s, diags := model.settings(os.Getenv)
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
}

// Resources lists the resource types.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newElasticGroup, newStaticGroup}
}

// DataSources lists the data source types.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource { return nil }
