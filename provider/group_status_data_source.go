package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var _ datasource.DataSourceWithConfigure = (*groupStatusDataSource)(nil)

// groupStatusDataSource implements the data source pcgroups_group_status.
type groupStatusDataSource struct{ dataSource }

func newGroupStatusData() datasource.DataSource { return &groupStatusDataSource{} }

// groupStatusData is the data of pcgroups_group_status.
type groupStatusData struct {
	Stream            types.String `tfsdk:"stream"`
	Group             types.String `tfsdk:"group"`
	Kind              types.String `tfsdk:"kind"`
	Revision          types.Int64  `tfsdk:"revision"`
	MaxMembers        types.Int64  `tfsdk:"max_members"`
	Lag               types.Int64  `tfsdk:"lag"`
	Members           types.Map    `tfsdk:"members"`
	ActiveMembers     types.List   `tfsdk:"active_members"`
	UnassignedMembers types.List   `tfsdk:"unassigned_members"`
	StreamMissing     types.Bool   `tfsdk:"stream_missing"`
	BufferedMsgs      types.Int64  `tfsdk:"buffered_msgs"`
	BufferedBytes     types.Int64  `tfsdk:"buffered_bytes"`
	SourceLag         types.Int64  `tfsdk:"source_lag"`
	SourceSilence     types.String `tfsdk:"source_silence"`
	SourceSeq         types.Int64  `tfsdk:"source_seq"`
	SourceStalled     types.String `tfsdk:"source_stalled_since"`
	SourceNext        types.Int64  `tfsdk:"source_next"`
	SourcePlaceLost   types.Bool   `tfsdk:"source_place_lost"`
	SourceExpired     types.Int64  `tfsdk:"source_expired"`
}

var memberStatusType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"partitions":    partitionListType,
	"consumer":      types.StringType,
	"exists":        types.BoolType,
	"created":       types.StringType,
	"pinned_id":     types.StringType,
	"pinned_since":  types.StringType,
	"waiting_pulls": types.Int64Type,
	"pending":       types.Int64Type,
	"ack_pending":   types.Int64Type,
	"redelivered":   types.Int64Type,
	"ack_floor":     types.Int64Type,
}}

// Metadata names the data source.
func (d *groupStatusDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_group_status"
}

// Schema describes the data source.
func (d *groupStatusDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	number := func(text string) schema.Attribute {
		return schema.Int64Attribute{MarkdownDescription: text, Computed: true}
	}
	text := func(text string) schema.Attribute {
		return schema.StringAttribute{MarkdownDescription: text, Computed: true}
	}
	names := func(text string) schema.Attribute {
		return schema.ListAttribute{MarkdownDescription: text, ElementType: types.StringType, Computed: true}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "How a consumer group is doing at this moment: how far behind it is, which members are there, and which instance of each is active. " +
			"All of it changes all the time, so do not let anything depend on it that should be stable; `check` blocks are a good place. That the group does not exist is an error.",
		Attributes: map[string]schema.Attribute{
			"stream": schema.StringAttribute{MarkdownDescription: "Name of the stream the group is on.", Required: true, Validators: streamName},
			"group":  schema.StringAttribute{MarkdownDescription: "Name of the group.", Required: true, Validators: groupName},
			"kind": schema.StringAttribute{
				MarkdownDescription: "`elastic` or `static`.", Required: true,
				Validators: []validator.String{stringvalidator.OneOf("elastic", "static")},
			},
			"revision":             number("Revision of the stored configuration."),
			"max_members":          number("Number of partitions."),
			"lag":                  number("Messages that the members have yet to acknowledge. For an elastic group `buffered_msgs` plus `source_lag`."),
			"active_members":       names("Members with an instance that is connected, sorted."),
			"unassigned_members":   names("Members beyond `max_members`, which have no partitions, sorted."),
			"stream_missing":       schema.BoolAttribute{MarkdownDescription: "Whether an elastic group's work-queue stream is missing. Null for a static group, as are all `buffered_…` and `source_…` attributes, which are null for an elastic group too while that stream is missing.", Computed: true},
			"buffered_msgs":        number("Messages in the work-queue stream, those delivered and not acknowledged included."),
			"buffered_bytes":       number("Bytes in the work-queue stream."),
			"source_lag":           number("Messages of the stream that are not in the work-queue stream yet, as far as the server knows."),
			"source_silence":       text("How long the work-queue stream has heard nothing from the stream, as a duration. Null if it has not at all since its leader was elected."),
			"source_seq":           number("Sequence, in the stream, of the message that came into the work-queue stream last, as the server records it. 0 if it does not (before 2.15)."),
			"source_stalled_since": text("Since when, at least, messages wait in the stream and are not copied into the work-queue stream, although nothing stands in the way (RFC 3339). Null if that is not so. The server gets over it, mostly within a minute: see the guide *Static or elastic?*."),
			"source_next":          number("While `source_stalled_since` is set: sequence of the first message of the stream that is not in the work-queue stream yet. Otherwise null."),
			"source_place_lost":    schema.BoolAttribute{MarkdownDescription: "Whether the server has lost its place in the stream: messages will come twice, or were skipped. `AuditElastic` of the Go library tells which.", Computed: true},
			"source_expired":       number("Messages that left the stream, by its limits or a purge, before they came into the work-queue stream, as far as that is known."),
			"members": schema.MapNestedAttribute{
				MarkdownDescription: "The members, by name.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"partitions":    schema.ListAttribute{MarkdownDescription: "Its partitions.", ElementType: types.Int64Type, Computed: true},
					"consumer":      text("Name of its consumer."),
					"exists":        schema.BoolAttribute{MarkdownDescription: "Whether its consumer exists. If not, no instance runs, and all other attributes but `consumer` and `partitions` are null.", Computed: true},
					"created":       text("When its consumer was created (RFC 3339)."),
					"pinned_id":     text("Pin id of the active instance, null if none is."),
					"pinned_since":  text("When the active instance became active (RFC 3339), null if none is."),
					"waiting_pulls": number("Pull requests of all its instances that wait for messages."),
					"pending":       number("Messages not delivered yet."),
					"ack_pending":   number("Messages delivered and not acknowledged yet."),
					"redelivered":   number("Messages of `ack_pending` that were delivered more than once."),
					"ack_floor":     number("Stream sequence up to which everything is acknowledged."),
				}},
			},
		},
	}
}

// Read asks the server.
func (d *groupStatusDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var data groupStatusData
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() {
		return
	}
	group := groupRef{kind: data.Kind.ValueString(), stream: data.Stream.ValueString(), name: data.Group.ValueString(), attribute: "group"}
	d.client.perform(ctx, group, "read", noTimeouts, &resp.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		describe := pcgroups.DescribeElastic
		if group.kind == "static" {
			describe = pcgroups.DescribeStatic
		}
		status, err := describe(ctx, js, group.stream, group.name)
		if err == nil {
			data.load(status)
		}
		return err
	})
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &data)...)
	}
}

func (data *groupStatusData) load(s *pcgroups.Description) {
	data.Revision, data.MaxMembers, data.Lag = types.Int64Value(int64(s.Revision)), types.Int64Value(int64(s.MaxMembers)), types.Int64Value(int64(s.Lag))
	data.ActiveMembers, data.UnassignedMembers = stringList(connected(s)), stringList(distinct(s.Unassigned))
	members := make(map[string]attr.Value)
	for _, m := range s.Members {
		members[m.Name] = memberStatus(m)
	}
	data.Members = types.MapValueMust(memberStatusType, members)
	data.StreamMissing, data.SourceSilence = types.BoolNull(), types.StringNull()
	data.BufferedMsgs, data.BufferedBytes, data.SourceLag = types.Int64Null(), types.Int64Null(), types.Int64Null()
	data.SourceSeq, data.SourceNext, data.SourceExpired = types.Int64Null(), types.Int64Null(), types.Int64Null()
	data.SourceStalled, data.SourcePlaceLost = types.StringNull(), types.BoolNull()
	if s.Kind != "elastic" {
		return
	}
	data.StreamMissing = types.BoolValue(s.StreamMissing)
	if s.StreamMissing {
		return
	}
	data.BufferedMsgs, data.BufferedBytes, data.SourceLag = types.Int64Value(int64(s.BufferedMsgs)), types.Int64Value(int64(s.BufferedBytes)), types.Int64Value(int64(s.SourceLag))
	if s.SourceActive >= 0 {
		data.SourceSilence = types.StringValue(s.SourceActive.Round(time.Millisecond).String())
	}
	data.SourceSeq, data.SourceExpired = types.Int64Value(int64(s.SourceSeq)), types.Int64Value(int64(s.SourceExpired))
	data.SourcePlaceLost = types.BoolValue(s.SourcePlaceLost)
	if stall := s.SourceStalled; stall != nil {
		data.SourceStalled = types.StringValue(stall.Since.UTC().Format(time.RFC3339))
		data.SourceNext = types.Int64Value(int64(stall.Next))
	}
}

func memberStatus(m pcgroups.MemberDescription) attr.Value {
	number := func(n int64) attr.Value {
		if !m.Exists {
			return types.Int64Null()
		}
		return types.Int64Value(n)
	}
	when := func(t time.Time) attr.Value {
		if t.IsZero() {
			return types.StringNull()
		}
		return types.StringValue(t.UTC().Format(time.RFC3339))
	}
	pin := types.StringNull()
	if m.PinnedID != "" {
		pin = types.StringValue(m.PinnedID)
	}
	return types.ObjectValueMust(memberStatusType.AttrTypes, map[string]attr.Value{
		"partitions":    types.ListValueMust(types.Int64Type, intValues(m.Partitions)),
		"consumer":      types.StringValue(m.Consumer),
		"exists":        types.BoolValue(m.Exists),
		"created":       when(m.Created),
		"pinned_id":     pin,
		"pinned_since":  when(m.PinnedSince),
		"waiting_pulls": number(int64(m.WaitingPulls)),
		"pending":       number(int64(m.Pending)),
		"ack_pending":   number(int64(m.AckPending)),
		"redelivered":   number(int64(m.Redelivered)),
		"ack_floor":     number(int64(m.AckFloor)),
	})
}
