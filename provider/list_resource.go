package provider

import (
	"cmp"
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ list.ListResourceWithConfigure = (*elasticGroupList)(nil)
	_ list.ListResourceWithConfigure = (*staticGroupList)(nil)
)

// elasticGroupList implements the list resource pcgroups_elastic_group.
type elasticGroupList struct{ groupResource }

func newElasticGroupList() list.ListResource {
	return &elasticGroupList{groupResource{kind: "elastic"}}
}

// staticGroupList implements the list resource pcgroups_static_group.
type staticGroupList struct{ groupResource }

func newStaticGroupList() list.ListResource {
	return &staticGroupList{groupResource{kind: "static"}}
}

// ListResourceConfigSchema describes the list block.
func (r *groupResource) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the " + r.kind + " consumer groups that there are, whoever made them, to import them or to write their configuration.",
		Attributes: map[string]schema.Attribute{
			"stream": schema.StringAttribute{MarkdownDescription: "Only groups on this stream. Default: on all streams.", Optional: true, Validators: streamName},
		},
	}
}

// List lists the elastic groups.
func (r *elasticGroupList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	r.list(ctx, req, stream, func(ctx context.Context, js jetstream.JetStream, g groupRef) (any, error) {
		c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, js, g.stream, g.name)
		if err != nil {
			return nil, err
		}
		m := elasticGroupModel{Stream: types.StringValue(g.stream), Name: types.StringValue(g.name), Timeouts: noTimeoutsValue()}
		m.load(c)
		m.derive()
		return &m, nil
	})
}

// List lists the static groups.
func (r *staticGroupList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	r.list(ctx, req, stream, func(ctx context.Context, js jetstream.JetStream, g groupRef) (any, error) {
		c, err := pcgroups.GetStaticConsumerGroupConfig(ctx, js, g.stream, g.name)
		if err != nil {
			return nil, err
		}
		m := staticGroupModel{Stream: types.StringValue(g.stream), Name: types.StringValue(g.name), Members: types.ListNull(types.StringType), Timeouts: noTimeoutsValue()}
		m.load(c)
		m.derive()
		return &m, nil
	})
}

func noTimeoutsValue() timeouts.Value {
	return timeouts.Value{Object: types.ObjectNull(map[string]attr.Type{
		"create": types.StringType, "read": types.StringType, "update": types.StringType, "delete": types.StringType,
	})}
}

// list gives what Terraform asks for and no more: names only, unless it wants
// the resources too.
func (r *groupResource) list(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream, read func(context.Context, jetstream.JetStream, groupRef) (any, error)) {
	var config struct {
		Stream types.String `tfsdk:"stream"`
	}
	if diags := req.Config.Get(ctx, &config); diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	var groups []groupRef
	var diags diag.Diagnostics
	about := groupRef{kind: r.kind, stream: cmp.Or(config.Stream.ValueString(), "*"), name: "*"}
	r.perform(ctx, about, "list", noTimeouts, &diags, func(ctx context.Context, js jetstream.JetStream) (err error) {
		groups, err = listGroups(ctx, js, r.kind, config.Stream.ValueString())
		return err
	})
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		given := int64(0)
		for _, g := range groups {
			if req.Limit > 0 && given == req.Limit {
				return
			}
			result, found := r.result(ctx, req, g, read)
			if !found {
				continue
			}
			if given++; !push(result) {
				return
			}
		}
	}
}

// result is one group. It may be gone by now, which is no reason to fail.
func (r *groupResource) result(ctx context.Context, req list.ListRequest, g groupRef, read func(context.Context, jetstream.JetStream, groupRef) (any, error)) (list.ListResult, bool) {
	result := req.NewListResult(ctx)
	result.DisplayName = formatImportID(g.stream, g.name)
	result.Diagnostics.Append(result.Identity.Set(ctx, g.identity())...)
	if !req.IncludeResource {
		return result, true
	}
	found := true
	r.perform(ctx, g, "read", noTimeouts, &result.Diagnostics, func(ctx context.Context, js jetstream.JetStream) error {
		model, err := read(ctx, js, g)
		if errors.Is(err, pcgroups.ErrGroupNotFound) {
			found = false
			return nil
		}
		if err == nil {
			result.Diagnostics.Append(result.Resource.Set(ctx, model)...)
		}
		return err
	})
	return result, found
}
