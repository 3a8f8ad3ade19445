package provider

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: a plan that needs the server although all in it is new; and a plan
// that looks for an existing group at a server that was guessed.
func TestAccProvider_unknownServers(t *testing.T) {
	w := newWorld(t)
	config := func(url string) string {
		return requires + fmt.Sprintf(`
resource "terraform_data" "nats" {
  input = %q
}
provider "pcgroups" {
  servers = [terraform_data.nats.output]
}
`, url) + groupBlock("pcgroups_elastic_group", []string{`stream = "ORDERS"`, `name = "cg"`, `max_members = 4`})
	}
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config(w.URL())},
			{
				Config: config("nats://elsewhere:4222"),
				ExpectError: says(`Could not read elastic consumer group ORDERS/cg: the provider's servers will be known only after apply. ` +
					`To go on, apply what those values come from first, with -target`),
			},
			{Config: config(w.URL())},
		},
	})
}

// Prevents: a group being dropped from state, and then made anew, because the
// server was down while it was to be read.
func TestAccProvider_serverDown(t *testing.T) {
	w := newWorld(t, natstest.WithStoreDir(t.TempDir()))
	config := w.elastic(`max_members = 4`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: w.Shutdown, Config: config, PlanOnly: true,
				ExpectError: says(`Tried ` + w.URL() + ` (servers in the provider block): no servers available for connection.`),
			},
			{PreConfig: w.Restart, Config: config, PlanOnly: true},
		},
	})
}

// Prevents: groups made at the same moment in a fresh account failing because
// each finds no bucket and creates it.
func TestAccProvider_manyGroups(t *testing.T) {
	w := newWorld(t)
	config := w.config(`
resource "pcgroups_elastic_group" "g" {
  count       = 10
  stream      = "ORDERS"
  name        = "cg-${count.index}"
  max_members = 4
  members     = ["a"]
}
resource "pcgroups_static_group" "g" {
  count       = 10
  stream      = "PARTS"
  name        = "cg-${count.index}"
  max_members = 4
  members     = ["a"]
}
`)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{{
			Config: config,
			Check: func(*terraform.State) error {
				elastic, err := pcgroups.ListElasticConsumerGroups(t.Context(), w.js, "ORDERS")
				if err != nil {
					return err
				}
				static, err := pcgroups.ListStaticConsumerGroups(t.Context(), w.js, "PARTS")
				if err == nil && (len(elastic) != 10 || len(static) != 10) {
					err = fmt.Errorf("elastic groups %v, static groups %v", elastic, static)
				}
				return err
			},
		}},
	})
}
