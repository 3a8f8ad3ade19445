package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ datasource.DataSourceWithConfigure = (*elasticGroupDataSource)(nil)
	_ datasource.DataSourceWithConfigure = (*staticGroupDataSource)(nil)
)

// dataSource is what all data sources have in common.
type dataSource struct{ client *client }

// Configure receives the provider's connection.
func (d *dataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// elasticGroupDataSource implements the data source pcgroups_elastic_group.
type elasticGroupDataSource struct{ dataSource }

func newElasticGroupData() datasource.DataSource { return &elasticGroupDataSource{} }

// staticGroupDataSource implements the data source pcgroups_static_group.
type staticGroupDataSource struct{ dataSource }

func newStaticGroupData() datasource.DataSource { return &staticGroupDataSource{} }

// elasticGroupData is the data of pcgroups_elastic_group.
type elasticGroupData struct {
	Stream              types.String `tfsdk:"stream"`
	Name                types.String `tfsdk:"name"`
	MaxMembers          types.Int64  `tfsdk:"max_members"`
	PartitioningFilters types.List   `tfsdk:"partitioning_filters"`
	MaxBufferedMsgs     types.Int64  `tfsdk:"max_buffered_msgs"`
	MaxBufferedBytes    types.Int64  `tfsdk:"max_buffered_bytes"`
	Members             types.Set    `tfsdk:"members"`
	MemberMappings      types.Map    `tfsdk:"member_mappings"`
	Assignments         types.Map    `tfsdk:"assignments"`
	WorkQueueStream     types.String `tfsdk:"work_queue_stream"`
	Revision            types.Int64  `tfsdk:"revision"`
}

// staticGroupData is the data of pcgroups_static_group.
type staticGroupData struct {
	Stream         types.String `tfsdk:"stream"`
	Name           types.String `tfsdk:"name"`
	MaxMembers     types.Int64  `tfsdk:"max_members"`
	Filters        types.List   `tfsdk:"filters"`
	Members        types.List   `tfsdk:"members"`
	MemberMappings types.Map    `tfsdk:"member_mappings"`
	Assignments    types.Map    `tfsdk:"assignments"`
	Revision       types.Int64  `tfsdk:"revision"`
}

// Metadata names the data source.
func (d *elasticGroupDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_elastic_group"
}

// Metadata names the data source.
func (d *staticGroupDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_static_group"
}

// Schema describes the data source.
func (d *elasticGroupDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := groupDataAttributes()
	attributes["members"] = schema.SetAttribute{MarkdownDescription: "Names of the members; null if the group uses mappings.", ElementType: types.StringType, Computed: true}
	attributes["partitioning_filters"] = schema.ListNestedAttribute{
		MarkdownDescription: "What the group consumes and how it is keyed. `[]`: all messages, keyed by their whole subject.",
		Computed:            true,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"filter":                 schema.StringAttribute{MarkdownDescription: "Subject filter.", Computed: true},
			"partitioning_wildcards": schema.ListAttribute{MarkdownDescription: "Which of the filter's `*` make up the key, counted from 1. `[]`: the whole subject.", ElementType: types.Int64Type, Computed: true},
		}},
	}
	attributes["max_buffered_msgs"] = schema.Int64Attribute{MarkdownDescription: "Most messages that the work-queue stream may hold, -1 for no limit.", Computed: true}
	attributes["max_buffered_bytes"] = schema.Int64Attribute{MarkdownDescription: "Most bytes that the work-queue stream may hold, -1 for no limit.", Computed: true}
	attributes["work_queue_stream"] = schema.StringAttribute{MarkdownDescription: "Name of the group's work-queue stream, `<stream>-<name>`.", Computed: true}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The configuration and the members of an elastic consumer group, whoever manages it. That the group does not exist is an error; `pcgroups_groups` lists those that do. " +
			"How the group is doing is told by `pcgroups_group_status`.",
		Attributes: attributes,
	}
}

// Schema describes the data source.
func (d *staticGroupDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := groupDataAttributes()
	attributes["members"] = schema.ListAttribute{MarkdownDescription: "Names of the members, in the order stored; null if the group uses mappings.", ElementType: types.StringType, Computed: true}
	attributes["filters"] = schema.ListAttribute{MarkdownDescription: "Subject filters, without the partition number. `[]`: all messages.", ElementType: types.StringType, Computed: true}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The configuration of a static consumer group, whoever manages it. That the group does not exist is an error; `pcgroups_groups` lists those that do. " +
			"How the group is doing is told by `pcgroups_group_status`.",
		Attributes: attributes,
	}
}

// groupDataAttributes are those that both kinds of group have.
func groupDataAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"stream":          schema.StringAttribute{MarkdownDescription: "Name of the stream the group is on.", Required: true, Validators: streamName},
		"name":            schema.StringAttribute{MarkdownDescription: "Name of the group.", Required: true, Validators: groupName},
		"max_members":     schema.Int64Attribute{MarkdownDescription: "Number of partitions.", Computed: true},
		"member_mappings": schema.MapAttribute{MarkdownDescription: "Partitions of every member, by member name, as assigned explicitly; null if the group has members instead.", ElementType: partitionSetType, Computed: true},
		"assignments":     schema.MapAttribute{MarkdownDescription: "Partitions of every member, by member name, however they were assigned. Not listed (null) with more than 65536 partitions.", ElementType: partitionListType, Computed: true},
		"revision":        schema.Int64Attribute{MarkdownDescription: "Revision of the stored configuration. Every change of it has a higher one.", Computed: true},
	}
}

// Read reads the group.
func (d *elasticGroupDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data elasticGroupData
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() {
		return
	}
	group := groupRef{kind: "elastic", stream: data.Stream.ValueString(), name: data.Name.ValueString()}
	d.client.perform(ctx, group, "read", noTimeouts, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, group.stream, group.name)
		if err != nil {
			return err
		}
		var m elasticGroupModel
		m.load(c)
		data.MaxMembers, data.PartitioningFilters, data.MaxBufferedMsgs, data.MaxBufferedBytes = m.MaxMembers, m.PartitioningFilters, m.MaxBufferedMsgs, m.MaxBufferedBytes
		data.Members, data.MemberMappings = m.Members, m.MemberMappings
		data.Assignments = assignmentsValue(c.MaxMembers, membership{c.Members, c.MemberMappings})
		data.WorkQueueStream = types.StringValue(pcgroups.ComposeGroupStreamName(group.stream, group.name))
		data.Revision = types.Int64Value(int64(c.Revision()))
		return nil
	})
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
	}
}

// Read reads the group.
func (d *staticGroupDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data staticGroupData
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() {
		return
	}
	group := groupRef{kind: "static", stream: data.Stream.ValueString(), name: data.Name.ValueString()}
	d.client.perform(ctx, group, "read", noTimeouts, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		c, err := pcgroups.GetStaticConsumerGroupConfig(ctx, js, group.stream, group.name)
		if err != nil {
			return err
		}
		data.MaxMembers, data.Filters = types.Int64Value(int64(c.MaxMembers)), stringList(c.Filters)
		data.Members, data.MemberMappings = stringList(c.Members), types.MapNull(partitionSetType)
		if len(c.MemberMappings) != 0 {
			data.Members, data.MemberMappings = types.ListNull(types.StringType), mappingsMap(c.MemberMappings)
		}
		data.Assignments = assignmentsValue(c.MaxMembers, membership{c.Members, c.MemberMappings})
		data.Revision = types.Int64Value(int64(c.Revision()))
		return nil
	})
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
	}
}
