package pcgroups_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// tenAtOnce adds ten members to a group, each by its own call, at the same time.
func tenAtOnce(t *testing.T, a *admin, group string) {
	t.Helper()
	ctx := a.ctx()
	must(t, errors.Join(atOnce(10, func(i int) error {
		name := fmt.Sprintf("m%d", i)
		_, err := pcgroups.AddMembers(ctx, a.js, "ORDERS", group, []string{name})
		return err
	})...))
	c, err := pcgroups.GetElasticConsumerGroupConfig(ctx, a.js, "ORDERS", group)
	must(t, err)
	sameStrings(t, "members", c.Members, "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9")
}

func TestAdminAddAtOnce(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg")
	tenAtOnce(t, a, "cg")
}
