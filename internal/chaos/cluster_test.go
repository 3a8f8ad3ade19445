package chaos

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

// TestMain lets the test binary be a server, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == NodeArg {
		if err := ServeNode(os.Args[2], os.Stdin); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// Prevents: a kill that is a polite request, a server that does not come back
// with what it had, or servers that outlive the program.
func TestServersAreKilledAndComeBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	c, err := startCluster(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer monitorClient.CloseIdleConnections()
	defer c.close()
	nc, err := c.connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: nodes}); err != nil {
		t.Fatal(err)
	}
	publish := func(id string) {
		t.Helper()
		if err := await(ctx, patience, func() error {
			once, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := js.Publish(once, "s", nil, jetstream.WithMsgID(id))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	publish("1")
	n := c.nodes[0]
	process := n.cmd.Process
	n.kill()
	if err := process.Signal(os.Interrupt); err == nil {
		t.Error("the process is still there")
	}
	publish("2")
	if err := n.start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.waitHealthy(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.stepDownMeta(); err != nil {
		t.Errorf("the system account can not ask the meta leader: %v", err)
	}
	if err := await(ctx, patience, func() error {
		s, err := js.Stream(ctx, "S")
		if err == nil && s.CachedInfo().State.Msgs != 2 {
			t.Errorf("%d messages, want 2", s.CachedInfo().State.Msgs)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
