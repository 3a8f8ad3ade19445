package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// While a group is planned that does not exist yet, its stream is looked at, and
// what is likely to go wrong with it is told. It is never an error: the stream may
// be one that the same apply creates or changes first. So what keeps the provider
// from looking is no error either.

// glanceTime is how long such a look may take.
const glanceTime = 3 * time.Second

// glance runs a check that may warn. A server that could not be reached a moment
// ago is not tried again: hundreds of new groups would wait for it one by one.
func (r *groupResource) glance(ctx context.Context, group groupRef, diags *diag.Diagnostics, check func(context.Context, jetstream.JetStream) error) {
	if len(r.client.settings.unknown) != 0 || r.client.unreachable() {
		return
	}
	soon := func(context.Context, time.Duration) (time.Duration, diag.Diagnostics) { return glanceTime, nil }
	var missing bool
	var ignored diag.Diagnostics
	r.perform(ctx, group, "read", soon, &ignored, func(ctx context.Context, js jetstream.JetStream) error {
		err := check(ctx, js)
		missing = errors.Is(err, pcgroups.ErrStreamNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
		return err
	})
	if missing {
		diags.AddAttributeWarning(path.Root("stream"), "The stream does not exist yet", fmt.Sprintf(
			"There is no stream %q in this account now. If this plan creates it and stream refers to it, all is well. "+
				"Otherwise the apply of %v will fail: create the stream first, or refer to its resource here, so that Terraform knows the order.", group.stream, group))
	}
}

// checkStream warns of filters that no message of the stream can match.
func (r *elasticGroupResource) checkStream(ctx context.Context, plan *elasticGroupModel, diags *diag.Diagnostics) {
	if !whole(plan.Stream, plan.Name) || !known(plan.PartitioningFilters) {
		return
	}
	r.glance(ctx, plan.ref(), diags, func(ctx context.Context, js jetstream.JetStream) error {
		s, err := js.Stream(ctx, plan.Stream.ValueString())
		if err != nil {
			return err
		}
		subjects, ok := subjectsOf(s.CachedInfo().Config)
		if !ok {
			return nil
		}
		for i, f := range filtersOf(plan.PartitioningFilters) {
			if !slices.ContainsFunc(subjects, func(subject string) bool { return overlaps(f.Filter, subject) }) {
				diags.AddAttributeWarning(path.Root("partitioning_filters").AtListIndex(i), "No message can match the filter", fmt.Sprintf(
					"The filter %q and the subjects of stream %s (%s) have nothing in common, so the group will get no messages by it. "+
						"If the stream's subjects are changed too, this is no problem.", f.Filter, plan.Stream.ValueString(), strings.Join(subjects, ", ")))
			}
		}
		return nil
	})
}

// subjectsOf lists the subjects that messages of a stream can have, if the
// stream's configuration tells them all.
func subjectsOf(c jetstream.StreamConfig) (subjects []string, ok bool) {
	if c.Mirror != nil || len(c.Sources) != 0 {
		return nil, false // those of other streams
	}
	if t := c.SubjectTransform; t != nil {
		if fn := strings.ToLower(t.Destination); fn == "" || strings.Contains(fn, "{{split") || strings.Contains(fn, "{{slice") {
			return nil, false // these make any number of tokens of one
		}
		left := slices.DeleteFunc(slices.Clone(c.Subjects), func(subject string) bool { return covers(t.Source, subject) })
		return append(left, destinationFilter(t.Destination)), true
	}
	return c.Subjects, true
}

// covers tells whether a transform of that source gets all of the subjects.
func covers(source, subjects string) bool {
	have, all := strings.Split(cmp.Or(source, ">"), "."), strings.Split(subjects, ".")
	for i, token := range have {
		switch {
		case token == ">":
			return i < len(all)
		case i == len(all), all[i] == ">", token != "*" && token != all[i]:
			return false
		}
	}
	return len(have) == len(all)
}

// destinationFilter is the filter that covers the destination of a transform.
func destinationFilter(destination string) string {
	tokens := strings.Split(destination, ".")
	for i, t := range tokens {
		if strings.HasPrefix(t, "{{") || strings.HasPrefix(t, "$") {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

// overlaps tells whether a subject can match both filters. The rule is the one by
// which the library refuses such a pair; a filter that it refuses by itself is
// taken for one that can.
func overlaps(a, b string) bool {
	return (&pcgroups.StaticConsumerGroupConfig{MaxMembers: 1, Filters: []string{a, b}}).ValidateNew(stand, stand) != nil
}
