package provider

import (
	"context"
	"fmt"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// The functions are pure: they need no server and no provider block.

var (
	_ function.Function = transformDestination{}
	_ function.Function = partitionFor{}
	_ function.Function = assignmentsFunction{}
)

// wildcardsParameter and maxMembersParameter mean the same in every function.
func wildcardsParameter() function.Parameter {
	return function.ListParameter{
		Name:                "wildcards",
		ElementType:         types.Int64Type,
		MarkdownDescription: "Which of the filter's `*` make up the key, counted from 1. `[]`: the whole subject is the key.",
	}
}

func maxMembersParameter() function.Parameter {
	return function.Int64Parameter{Name: "max_members", CustomType: wholeNumber{}, MarkdownDescription: "Number of partitions, at least 1."}
}

// argument checks what all functions check, and tells which argument is wrong.
func argument(position int64, config newGroup) *function.FuncError {
	if err := config.ValidateNew(stand, stand); err != nil {
		return function.NewArgumentFuncError(position, err.Error())
	}
	return nil
}

// countOf refuses a number of partitions that can not be.
func countOf(position int64, n int64) (uint, *function.FuncError) {
	if n < 1 || n > math.MaxInt32 {
		return 0, function.NewArgumentFuncError(position, fmt.Sprintf("max_members: must be from 1 to %d, as it is the number of partitions, not %d", math.MaxInt32, n))
	}
	return uint(n), nil
}

func ints(in []int64) []int {
	out := make([]int, len(in))
	for i, v := range in {
		out[i] = int(v)
	}
	return out
}

// transformDestination implements transform_destination.
type transformDestination struct{}

func newTransformDestination() function.Function { return transformDestination{} }

func (transformDestination) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "transform_destination"
}

func (transformDestination) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Subject transform destination that partitions a stream",
		MarkdownDescription: "Returns the destination of the subject transform that puts the partition number in front of a filter's subjects, such as `{{Partition(8,1)}}.orders.{{Wildcard(1)}}` for `orders.*` keyed by its first wildcard. " +
			"A stream needs that transform for a static group to consume it; an elastic group brings its own.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "filter", MarkdownDescription: "Subject filter, with at least one `*` or ending in `>`. It is the transform's source too."},
			wildcardsParameter(),
			maxMembersParameter(),
		},
		Return: function.StringReturn{},
	}
}

func (transformDestination) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var filter string
	var wildcards []int64
	var maxMembers int64
	resp.Error = function.ConcatFuncErrors(resp.Error, req.Arguments.Get(ctx, &filter, &wildcards, &maxMembers))
	if resp.Error != nil {
		return
	}
	f := pcgroups.PartitioningFilter{Filter: filter}
	if resp.Error = argument(0, &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, PartitioningFilters: []pcgroups.PartitioningFilter{f}}); resp.Error != nil {
		return
	}
	f.PartitioningWildcards = ints(wildcards)
	if resp.Error = argument(1, &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, PartitioningFilters: []pcgroups.PartitioningFilter{f}}); resp.Error != nil {
		return
	}
	n, bad := countOf(2, maxMembers)
	if resp.Error = bad; bad != nil {
		return
	}
	resp.Error = resp.Result.Set(ctx, pcgroups.PartitioningTransformDestination(f, n))
}

// partitionFor implements partition_for.
type partitionFor struct{}

func newPartitionFor() function.Function { return partitionFor{} }

func (partitionFor) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "partition_for"
}

func (partitionFor) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Partition of a subject",
		MarkdownDescription: "Returns the partition, from 0 to `max_members` - 1, that the server gives to a subject. " +
			"Together with `assignments` it tells which member handles it.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "subject", MarkdownDescription: "Subject of a message, as it is published."},
			function.StringParameter{Name: "filter", MarkdownDescription: "Subject filter that the subject matches, with at least one `*` or ending in `>`."},
			wildcardsParameter(),
			maxMembersParameter(),
		},
		Return: function.Int64Return{},
	}
}

func (partitionFor) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var subject, filter string
	var wildcards []int64
	var maxMembers int64
	resp.Error = function.ConcatFuncErrors(resp.Error, req.Arguments.Get(ctx, &subject, &filter, &wildcards, &maxMembers))
	if resp.Error != nil {
		return
	}
	n, bad := countOf(3, maxMembers)
	if resp.Error = bad; bad != nil {
		return
	}
	partition, err := pcgroups.PartitionFor(subject, filter, ints(wildcards), n)
	if err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, int64(partition))
}

// assignmentsFunction implements assignments.
type assignmentsFunction struct{}

func newAssignmentsFunction() function.Function { return assignmentsFunction{} }

func (assignmentsFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "assignments"
}

func (assignmentsFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Partitions of every member",
		MarkdownDescription: "Returns the partitions that each of the members gets when they share a group evenly, by member name: what the `assignments` attribute of a group with these `members` would be. " +
			"Members beyond `max_members`, in the order of their names, have none. At most 65536 partitions can be listed.",
		Parameters: []function.Parameter{
			function.SetParameter{Name: "members", ElementType: types.StringType, MarkdownDescription: "Names of the members."},
			maxMembersParameter(),
		},
		Return: function.MapReturn{ElementType: partitionListType},
	}
}

func (assignmentsFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var members []string
	var maxMembers int64
	resp.Error = function.ConcatFuncErrors(resp.Error, req.Arguments.Get(ctx, &members, &maxMembers))
	if resp.Error != nil {
		return
	}
	if resp.Error = argument(0, &pcgroups.ElasticConsumerGroupConfig{MaxMembers: 1, Members: members}); resp.Error != nil {
		return
	}
	n, bad := countOf(1, maxMembers)
	if resp.Error = bad; bad != nil {
		return
	}
	if n > maxListed {
		resp.Error = function.NewArgumentFuncError(1, fmt.Sprintf("max_members: %d partitions are too many to list; %d can be", n, maxListed))
		return
	}
	resp.Error = resp.Result.Set(ctx, assignmentsValue(n, membership{members: members}))
}
