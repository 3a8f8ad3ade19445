package provider

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

// The tests here run the provider as Terraform does in life, as a process of its
// own, for what can not be seen when it is part of the test.

// programFolder goes with the tests; see TestMain.
var programFolder string

// built builds the provider's program into that folder, once.
var built = sync.OnceValue(func() error {
	program := filepath.Join(programFolder, "terraform-provider-pcgroups")
	out, err := exec.Command("go", "build", "-o", program, "github.com/nats-pcgroups/terraform-provider-pcgroups").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

// module is a configuration that the CLI runs on.
type module struct {
	t   *testing.T
	dir string
	env []string
}

func newModule(t *testing.T, text string, env ...string) *module {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	m := &module{t: t, dir: t.TempDir()}
	rc := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"nats-pcgroups/pcgroups\" = %q\n  }\n  direct {}\n}\n", programFolder)
	m.write("main.tf", text)
	m.write("cli.tfrc", rc)
	m.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(m.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1")
	for _, v := range os.Environ() {
		// A TF_ACC test may have them set for the plugins it holds itself.
		if name, _, _ := strings.Cut(v, "="); name == "TF_REATTACH_PROVIDERS" {
			m.env = append(m.env, name+"=")
		}
	}
	m.env = append(m.env, env...)
	return m
}

func (m *module) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// command is a run of the CLI that is not started yet, and where its output is
// going to be.
func (m *module) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cli := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if cli == "" {
		cli = "terraform"
	}
	cmd := exec.CommandContext(m.t.Context(), cli, args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// Prevents: a secret in the log, at any level, or in what is shown: from the
// provider block, from the environment, and from a file, when it is accepted
// and when it is refused.
func TestAccProvider_secretsStaySecret(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, key := ca.issue("client")
	s := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.TLSConfig, o.TLS, o.TLSVerify = ca.server("127.0.0.1", true), true, true
		o.Users = []*server.User{{Username: "u", Password: "hunter2-right"}}
	}))
	const group = "data \"pcgroups_groups\" \"all\" {}\n"
	tls := fmt.Sprintf("tls = {\n ca_pem = <<EOT\n%sEOT\n cert_pem = <<EOT\n%sEOT\n key_pem = <<EOT\n%sEOT\n }\n", ca.pem, cert, key)
	secrets := []string{"hunter2-"}
	for line := range strings.Lines(key) {
		if !strings.HasPrefix(line, "-") {
			secrets = append(secrets, strings.TrimSpace(line))
		}
	}
	block := func(lines ...string) string {
		return requires + "provider \"pcgroups\" {\n" + strings.Join(lines, "\n") + "\n}\n" + group
	}
	at := fmt.Sprintf("servers = [%q]", s.URL())
	for _, tc := range []struct {
		name, config string
		env          []string
		fails        bool
	}{
		{"accepted", block(at, tls, `user = "u"`, `password = "hunter2-right"`), nil, false},
		{"refused", block(at, tls, `user = "u"`, `password = "hunter2-wrong"`), nil, true},
		{"refused token", block(at, tls, `token = "hunter2-token"`), nil, true},
		{"not credentials", block(at, tls, `credentials = "hunter2-creds"`), nil, true},
		{"not a seed", block(at, tls, `nkey_seed = "SUhunter2-seed"`), nil, true},
		{"in the environment", block(tls), []string{"NATS_URL=nats://u:hunter2-right@" + s.Addr()}, false},
		{"in the environment, refused", block(tls), []string{"NATS_URL=nats://u:hunter2-wrong@" + s.Addr()}, true},
	} {
		m := newModule(t, tc.config, append(tc.env, "TF_LOG=TRACE")...)
		cmd, out := m.command("plan", "-no-color", "-input=false")
		err := cmd.Run()
		if (err != nil) != tc.fails {
			t.Errorf("%s: %v\n%s", tc.name, err, tail(out.String()))
		}
		if !strings.Contains(out.String(), "connecting to NATS") {
			t.Errorf("%s: the provider's log is not in the output, so this proves nothing:\n%s", tc.name, tail(out.String()))
		}
		for _, secret := range secrets {
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, secret) {
					t.Errorf("%s: %s", tc.name, line)
				}
			}
		}
	}
}

// Prevents: a replacement that Terraform is told to make, of which the provider
// is not told, being planned although it loses messages; resources that are
// replaced so being taken for two that fight.
func TestAccProvider_forcedReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := func(lines ...string) string {
		return w.elastic(append(lines, `max_members = 4`, keyed)...) + membershipBlock(`members = ["a"]`, `depends_on = [pcgroups_elastic_group.g]`) +
			groupBlock("pcgroups_static_group", []string{`stream = "PARTS"`, `name = "cg"`, `max_members = 4`, `members = ["a"]`})
	}
	m := newModule(t, group())
	run := func(fails bool, want string, args ...string) {
		t.Helper()
		cmd, out := m.command(args...)
		if err := cmd.Run(); (err != nil) != fails || !says(want).MatchString(out.String()) {
			t.Fatalf("%v: %v, want %q in\n%s", args, err, want, out)
		}
	}
	run(false, "3 added", "apply", "-no-color", "-input=false", "-auto-approve")
	w.buffered(3, 3)
	run(true, "Replacing (because of -replace or replace_triggered_by) elastic consumer group ORDERS/cg would drop 3 unprocessed messages.",
		"plan", "-no-color", "-input=false", "-replace="+elasticAddr)
	m.write("main.tf", group(`force_destroy = true`))
	run(false, "3 added, 0 changed, 3 destroyed",
		"apply", "-no-color", "-input=false", "-auto-approve", "-replace="+elasticAddr, "-replace="+membershipAddr, "-replace="+staticAddr)
	w.must(w.wantMembers("a")(nil))
	run(false, "1 added, 1 changed, 1 destroyed", "apply", "-no-color", "-input=false", "-auto-approve", "-replace="+elasticAddr)
	w.must(w.wantMembers("a")(nil))
	run(false, "3 destroyed", "destroy", "-no-color", "-input=false", "-auto-approve")
	w.must(w.gone(nil))
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

// Prevents: an interrupted run that hangs on a server which says nothing more.
func TestAccProvider_interrupted(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	p := natstest.StartProxy(t, s.URL())
	m := newModule(t, providerConfig(p.URL())+"data \"pcgroups_groups\" \"all\" {}\n", "TF_LOG_PROVIDER=DEBUG")
	p.Delay(time.Hour)
	cmd, out := m.command("plan", "-no-color", "-input=false")
	var log watched
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, 30*time.Second, func() error {
		if !log.has("connecting to NATS") {
			return errors.New("it does not connect")
		}
		return nil
	})
	start := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("the interrupted plan succeeded: %s", out)
	}
	// The CLI itself takes most of it.
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// watched is output that is looked at while it is written.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) has(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.text.String(), text)
}
