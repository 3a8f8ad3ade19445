package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/release"
)

// suiteInbox is where answers to the suite's own requests go, by which the
// capture tells them from those of the implementation under test.
const suiteInbox = "_SUITE"

// Lab is where cases get their servers from. Every case has one of its own.
type Lab struct {
	// Version is that of the servers.
	Version string
	// start runs a server, or a cluster of n.
	start func(ctx context.Context, dir string, n int) (url string, stop func(), err error)
	// clusters tells whether it can run clusters.
	clusters bool
}

// EmbeddedLab runs the server that go.mod pins, in this process.
func EmbeddedLab(ctx context.Context) (*Lab, error) {
	l := &Lab{clusters: true, start: func(_ context.Context, dir string, n int) (string, func(), error) {
		if n > 1 {
			c, err := embedded.RunCluster(n, embedded.Options{StoreDir: dir})
			if err != nil {
				return "", nil, err
			}
			return c.Node(0).URL(), c.Shutdown, nil
		}
		s, err := embedded.Run(embedded.Options{StoreDir: dir})
		if err != nil {
			return "", nil, err
		}
		return s.URL(), s.Shutdown, nil
	}}
	return l, l.learnVersion(ctx)
}

// ReleaseLab runs a released server, which is built if need be. It runs no
// clusters.
func ReleaseLab(ctx context.Context, version string) (*Lab, error) {
	bin, err := release.Build(ctx, version)
	if err != nil {
		return nil, err
	}
	l := &Lab{start: func(ctx context.Context, dir string, _ int) (string, func(), error) {
		s, err := release.Run(ctx, bin, dir)
		if err != nil {
			return "", nil, err
		}
		return s.URL, s.Stop, nil
	}}
	return l, l.learnVersion(ctx)
}

func (l *Lab) learnVersion(ctx context.Context) error {
	b, err := l.bench(ctx, 1)
	if err != nil {
		return err
	}
	l.Version = b.nc.ConnectedServerVersion()
	b.close()
	return nil
}

// wholeSubject tells whether the servers can partition by the whole subject.
func (l *Lab) wholeSubject() bool { return !strings.HasPrefix(l.Version, "2.11.") }

// bench is a server with the suite's own connection to it.
type bench struct {
	url  string
	nc   *nats.Conn
	js   jetstream.JetStream
	stop func()
	dir  string
}

func (l *Lab) bench(ctx context.Context, nodes int) (*bench, error) {
	dir, err := os.MkdirTemp("", "pcgroups-conformance-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	url, stop, err := l.start(ctx, dir, nodes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: start a server: %w", ErrHarness, err), os.RemoveAll(dir))
	}
	b := &bench{url: url, stop: stop, dir: dir}
	b.nc, err = nats.Connect(url, nats.CustomInboxPrefix(suiteInbox), nats.IgnoreDiscoveredServers(), nats.Timeout(10*time.Second))
	if err == nil {
		b.js, err = jetstream.New(b.nc)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	return b, nil
}

func (b *bench) close() {
	if b.nc != nil {
		b.nc.Close()
	}
	b.stop()
	_ = os.RemoveAll(b.dir) // in the system's folder for such things
}
