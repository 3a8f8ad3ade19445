package provider

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// Prevents: an example in the documentation that does not work. Every .tf file
// under examples is planned by itself, but for imports, which need the resource
// beside them and the group on the server.
func TestAccExamples_plan(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "DEVICES", Subjects: []string{"devices.*.events"},
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: "devices.*.events", Destination: "{{Partition(6,1)}}.devices.{{Wildcard(1)}}.events"},
	})
	w.must(err)
	_, err = pcgroups.CreateElastic(ctx, w.js, "ORDERS", "fulfilment", 16, nil, -1, -1, pcgroups.WithMembers("night-shift"))
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "DEVICES", "telemetry", 6, nil, []string{"telemetry-0"}, nil)
	w.must(err)

	var steps []resource.TestStep
	for _, file := range tfFiles(t, "../examples") {
		text := read(t, file)
		if strings.Contains(file, "/with-jetstream-provider/") {
			continue // needs another provider, see TestAccExamples_withJetstreamProvider
		}
		if needs := neededVersion(text); !terraformAtLeast(t, 1, needs) {
			t.Logf("%s needs Terraform 1.%d: testacc-matrix has it", file, needs)
			continue
		}
		if strings.HasPrefix(filepath.Base(file), "import-by-") {
			text = read(t, filepath.Join(filepath.Dir(file), "resource.tf")) + text
		}
		if !strings.Contains(text, "\nprovider ") {
			text = w.config(text)
		}
		steps = append(steps, resource.TestStep{
			PreConfig:          func() { t.Log(file) },
			Config:             text,
			ConfigVariables:    config.Variables{"nats_url": config.StringVariable(w.URL())},
			PlanOnly:           true,
			ExpectNonEmptyPlan: changes(file, text),
		})
	}
	if len(steps) < 18 {
		t.Fatalf("only %d examples found", len(steps))
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
}

// changes tells whether the plan of an example is not empty: of an import that
// finds everything as it should be it is.
func changes(file, text string) bool {
	for _, word := range []string{"resource ", "output ", "check "} {
		if strings.Contains(text, word) {
			return !strings.Contains(file, "/pcgroups_elastic_member/import-by-")
		}
	}
	return false
}

// neededVersion is the minor version of Terraform that an example needs.
func neededVersion(text string) int {
	switch {
	case strings.Contains(text, "\naction "):
		return 14
	case strings.Contains(text, "identity = {"):
		return 12
	}
	return 8
}

// Prevents: an example for two providers that no longer fits one of them: the
// transform that it gives to the stream must be what the group's members need.
// The other provider is not to be had here, so the stream is made in its place.
func TestAccExamples_withJetstreamProvider(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	cli, out := newModule(t, read(t, "../examples/with-jetstream-provider/main.tf")).command("fmt", "-check", "-diff")
	if err := cli.Run(); err != nil {
		t.Errorf("the example can not be parsed, or is not formatted: %v\n%s", err, out)
	}
	text := read(t, "../examples/with-jetstream-provider/group.tf")
	head, _, found := strings.Cut(text, "\nresource ")
	if !found || !strings.Contains(text, "jetstream_stream.devices.name") {
		t.Fatal("the example is not as this test expects it")
	}
	whole := w.config(strings.ReplaceAll(text, "jetstream_stream.devices.name", `"DEVICES"`))
	handled := make(chan string, 10)
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             func(*terraform.State) error { return w.js.DeleteStream(ctx, "DEVICES") },
		Steps: []resource.TestStep{
			{
				Config: w.config(head),
				Check: func(state *terraform.State) error {
					destination := fmt.Sprint(state.RootModule().Outputs["destination"].Value)
					_, err := w.js.CreateStream(ctx, jetstream.StreamConfig{
						Name: "DEVICES", Subjects: []string{"devices.*.events"},
						SubjectTransform: &jetstream.SubjectTransformConfig{Source: "devices.*.events", Destination: destination},
					})
					return err
				},
			},
			{
				Config: whole,
				Check: func(*terraform.State) error {
					if err := pcgroups.CheckStaticStream(ctx, w.js, "DEVICES", 6, []string{"devices.*.events"}); err != nil {
						return err
					}
					for _, member := range []string{"telemetry-0", "telemetry-1", "telemetry-2"} {
						session, err := pcgroups.StaticConsume(ctx, w.js, "DEVICES", "telemetry", member, func(m jetstream.Msg) {
							_ = m.DoubleAck(ctx)
							handled <- m.Subject()
						}, jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
						if err != nil {
							return err
						}
						defer session.Stop()
					}
					for _, subject := range []string{"devices.a.events", "devices.b.events", "devices.c.events"} {
						if _, err := w.js.Publish(ctx, subject, nil); err != nil {
							return err
						}
					}
					got := []string{<-handled, <-handled, <-handled}
					slices.Sort(got)
					if want := "devices.a.events devices.b.events devices.c.events"; strings.Join(got, " ") != want {
						return fmt.Errorf("handled %v", got)
					}
					s, err := w.js.Stream(ctx, "DEVICES")
					if err != nil {
						return err
					}
					return s.Purge(ctx) // else the progress of the members would be in the way of the destroy
				},
			},
			{PreConfig: func() { w.idle("DEVICES", "telemetry-telemetry-0", "telemetry-telemetry-1", "telemetry-telemetry-2") }, Config: whole, PlanOnly: true},
		},
	})
}

// idle waits until the consumers have no instance any more.
func (w *world) idle(stream string, consumers ...string) {
	w.t.Helper()
	for _, consumer := range consumers {
		natstest.Eventually(w.t, 20*time.Second, func() error {
			c, err := w.js.Consumer(w.t.Context(), stream, consumer)
			if err != nil {
				return err
			}
			info := c.CachedInfo()
			if info.NumWaiting != 0 || slices.ContainsFunc(info.PriorityGroups, func(g jetstream.PriorityGroupState) bool { return g.PinnedClientID != "" }) {
				return fmt.Errorf("%s has an instance", consumer)
			}
			return nil
		})
	}
}

// Prevents: a quick start that does not do what it says: change the members by a
// second apply, in place.
func TestAccExamples_quickstart(t *testing.T) {
	w := newWorld(t)
	text := read(t, "../examples/quickstart/main.tf")
	const address = "pcgroups_elastic_group.orders_workers"
	step := func(want map[string][]int64, is plancheck.ResourceActionType, members ...config.Variable) resource.TestStep {
		return resource.TestStep{
			Config:            text,
			ConfigVariables:   config.Variables{"nats_url": config.StringVariable(w.URL()), "members": config.SetVariable(members...)},
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: checks(will(address, is))},
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("assignments", partitions(want))},
		}
	}
	one, two := config.StringVariable("one"), config.StringVariable("two")
	resource.ParallelTest(t, resource.TestCase{
		ProtoV6ProviderFactories: w.providers(),
		CheckDestroy:             w.gone,
		Steps: []resource.TestStep{
			step(map[string][]int64{"one": {0, 1, 2, 3, 4, 5, 6, 7}}, plancheck.ResourceActionCreate, one),
			step(map[string][]int64{"one": {0, 1, 2, 3}, "two": {4, 5, 6, 7}}, plancheck.ResourceActionUpdate, one, two),
		},
	})
}

func tfFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".tf" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// terraformAtLeast asks the Terraform that the tests run.
func terraformAtLeast(t *testing.T, major, minor int) bool {
	t.Helper()
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		path = "terraform"
	}
	out, err := exec.CommandContext(t.Context(), path, "version", "-json").Output()
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	var haveMajor, haveMinor int
	if err == nil {
		_, err = fmt.Sscanf(answer.Version, "%d.%d", &haveMajor, &haveMinor)
	}
	if err != nil {
		t.Fatalf("asking for Terraform's version: %v", err)
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor
}
