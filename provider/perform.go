package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/nats-io/nats.go/jetstream"
)

// clientOf is what Configure of every resource and data source does with what
// the provider hands to it.
func clientOf(data any, diags *diag.Diagnostics) *client {
	if data == nil {
		return nil // a configuration is validated before the provider is configured
	}
	c, ok := data.(*client)
	if !ok {
		diags.AddError("Bug in the provider", fmt.Sprintf("A %T was given in place of the connection. Please report this.", data))
	}
	return c
}

// The time that operations have when the timeouts attribute says nothing.
// Requests that fail do so long before: this is for groups that need many.
const (
	defaultReadTimeout  = time.Minute
	defaultWriteTimeout = 2 * time.Minute
)

// timeout is one getter of the timeouts attribute.
type timeout func(context.Context, time.Duration) (time.Duration, diag.Diagnostics)

// noTimeouts is for what has no timeouts attribute.
func noTimeouts(_ context.Context, fallback time.Duration) (time.Duration, diag.Diagnostics) {
	return fallback, nil
}

// perform runs an operation on a connection and within its timeout, and reports
// its error.
func (c *client) perform(ctx context.Context, group groupRef, verb string, configured timeout, diags *diag.Diagnostics, do func(context.Context, jetstream.JetStream) error) {
	fallback := defaultWriteTimeout
	if verb == "read" {
		fallback = defaultReadTimeout
	}
	d, problems := configured(ctx, fallback)
	diags.Append(problems...)
	if diags.HasError() {
		return
	}
	ctx, end := within(ctx, "timeouts."+verb, d)
	defer end()
	js, err := c.jetStream(ctx)
	if err == nil {
		if verb != "read" {
			c.reads.forget(group)
			defer c.reads.forget(group)
		}
		err = do(ctx, js)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		diags.Append(explain(group, verb, err, c.complaint()))
	}
}
