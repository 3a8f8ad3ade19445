package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

var (
	_ resource.ResourceWithMoveState = (*elasticGroupResource)(nil)
	_ resource.ResourceWithMoveState = (*staticGroupResource)(nil)
)

// MoveState takes over a group that was written as a bucket entry with the
// provider nats-io/jetstream, without touching the entry.
func (r *elasticGroupResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveEntry(pcgroups.ElasticBucket)}}
}

// MoveState does the same for static groups.
func (r *staticGroupResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveEntry(pcgroups.StaticBucket)}}
}

// moveEntry finds stream and name in the entry's key. The read that follows
// fills in the rest, as after an import.
func moveEntry(bucket string) func(context.Context, resource.MoveStateRequest, *resource.MoveStateResponse) {
	return func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		if req.SourceTypeName != "jetstream_kv_entry" || !strings.HasSuffix(req.SourceProviderAddress, "/jetstream") {
			return // not ours to move
		}
		var entry struct {
			Bucket string `json:"bucket"`
			Key    string `json:"key"`
		}
		if err := json.Unmarshal(req.SourceRawState.JSON, &entry); err != nil {
			resp.Diagnostics.AddError("Entry can not be moved", "The state of the jetstream_kv_entry can not be read: "+err.Error()+".")
			return
		}
		stream, name, found := strings.Cut(entry.Key, ".")
		if entry.Bucket != bucket || !found {
			resp.Diagnostics.AddError("Entry can not be moved", fmt.Sprintf(
				"The jetstream_kv_entry has the key %q of bucket %q. Such a group is an entry of bucket %q with a key of the form <stream>.<group>.", entry.Key, entry.Bucket, bucket))
			return
		}
		id := groupRef{stream: stream, name: name}.identity()
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("stream"), id.Stream)...)
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("name"), id.Name)...)
		if resp.TargetIdentity != nil {
			resp.Diagnostics.Append(resp.TargetIdentity.Set(ctx, id)...)
		}
	}
}
