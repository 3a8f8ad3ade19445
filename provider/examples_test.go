package provider

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/nats-io/nats.go/jetstream"

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
	_, err = pcgroups.CreateElastic(ctx, w.js, "ORDERS", "fulfilment", 16, nil, -1, -1)
	w.must(err)
	_, err = pcgroups.CreateStatic(ctx, w.js, "DEVICES", "telemetry", 6, nil, []string{"telemetry-0"}, nil)
	w.must(err)

	var steps []resource.TestStep
	for _, file := range tfFiles(t, "../examples") {
		text := read(t, file)
		if strings.HasPrefix(filepath.Base(file), "import-by-") {
			if strings.Contains(text, "identity = {") && !terraformAtLeast(t, 1, 12) {
				t.Logf("%s needs a newer Terraform: the import itself is tested by TestGroups_importByIdentity", file)
				continue
			}
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
			ExpectNonEmptyPlan: strings.Contains(text, "resource "),
		})
	}
	if len(steps) < 5 {
		t.Fatalf("only %d examples found", len(steps))
	}
	resource.ParallelTest(t, resource.TestCase{ProtoV6ProviderFactories: w.providers(), Steps: steps})
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
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: checks(action(address, is))},
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
