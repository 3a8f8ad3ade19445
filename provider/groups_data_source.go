package provider

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var _ datasource.DataSourceWithConfigure = (*groupsDataSource)(nil)

// groupsDataSource implements the data source pcgroups_groups.
type groupsDataSource struct{ dataSource }

func newGroupsData() datasource.DataSource { return &groupsDataSource{} }

// groupsData is the data of pcgroups_groups.
type groupsData struct {
	Stream types.String `tfsdk:"stream"`
	Kind   types.String `tfsdk:"kind"`
	Groups types.List   `tfsdk:"groups"`
}

var groupType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"kind": types.StringType, "stream": types.StringType, "name": types.StringType,
}}

// Metadata names the data source.
func (d *groupsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_groups"
}

// Schema describes the data source.
func (d *groupsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The consumer groups that there are, whoever made them. None is no error.",
		Attributes: map[string]schema.Attribute{
			"stream": schema.StringAttribute{MarkdownDescription: "Only groups on this stream. Default: on all streams.", Optional: true, Validators: streamName},
			"kind": schema.StringAttribute{
				MarkdownDescription: "Only groups of this kind, `elastic` or `static`. Default: both.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf("elastic", "static")},
			},
			"groups": schema.ListNestedAttribute{
				MarkdownDescription: "The groups, ordered by stream, name and kind.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"kind":   schema.StringAttribute{MarkdownDescription: "`elastic` or `static`.", Computed: true},
					"stream": schema.StringAttribute{MarkdownDescription: "Name of the stream the group is on.", Computed: true},
					"name":   schema.StringAttribute{MarkdownDescription: "Name of the group.", Computed: true},
				}},
			},
		},
	}
}

// Read lists the groups.
func (d *groupsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data groupsData
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var groups []groupRef
	about := groupRef{kind: cmp.Or(data.Kind.ValueString(), "any"), stream: cmp.Or(data.Stream.ValueString(), "*"), name: "*"}
	d.client.perform(ctx, about, "list", noTimeouts, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		for _, kind := range []string{"elastic", "static"} {
			if want := data.Kind.ValueString(); want != "" && want != kind {
				continue
			}
			more, err := listGroups(ctx, js, kind, data.Stream.ValueString())
			if err != nil {
				return err
			}
			groups = append(groups, more...)
		}
		return nil
	})
	if resp.Diagnostics.HasError() {
		return
	}
	slices.SortFunc(groups, compareGroups)
	var values []attr.Value
	for _, g := range groups {
		values = append(values, types.ObjectValueMust(groupType.AttrTypes, map[string]attr.Value{
			"kind": types.StringValue(g.kind), "stream": types.StringValue(g.stream), "name": types.StringValue(g.name),
		}))
	}
	data.Groups = types.ListValueMust(groupType, values)
	resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
}

func compareGroups(a, b groupRef) int {
	return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
}

// listGroups lists the groups of a kind, on one stream or, if it is empty, on
// all, in order.
func listGroups(ctx context.Context, js jetstream.JetStream, kind, stream string) ([]groupRef, error) {
	bucket, list := pcgroups.ElasticBucket, pcgroups.ListElasticConsumerGroups
	if kind == "static" {
		bucket, list = pcgroups.StaticBucket, pcgroups.ListStaticConsumerGroups
	}
	var groups []groupRef
	if stream != "" {
		names, err := list(ctx, js, stream)
		for _, name := range names {
			groups = append(groups, groupRef{kind: kind, stream: stream, name: name})
		}
		return groups, err
	}
	kv, err := js.KeyValue(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := kv.ListKeys(ctx)
	if err != nil {
		return nil, err
	}
	for key := range keys.Keys() {
		// A stream's name has no dot, so the first one is the separator.
		if stream, name, ok := strings.Cut(key, "."); ok {
			groups = append(groups, groupRef{kind: kind, stream: stream, name: name})
		}
	}
	slices.SortFunc(groups, compareGroups)
	return groups, context.Cause(ctx)
}
