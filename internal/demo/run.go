// Package demo is the project's main job, told as a story on one screen: it
// starts a NATS server, declares a consumer group with Terraform, lets members
// handle orders, changes the membership while orders flow, and counts what went
// wrong, which should be nothing.
//
// The story is in run.go and steps.go. What it consists of: programs that are
// run (program.go, provider.go, terraform.go), orders and who handles them
// (traffic.go, member.go, owners.go), and what is printed (report.go, tables.go,
// plan.go).
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest/embedded"
)

// Options steer the demo. The zero value is not usable; see [Defaults].
type Options struct {
	// Duration is how long throughput is watched, divided equally between the
	// three memberships. The whole run takes about 10 s more, and on the first
	// time as long as it takes to build the provider.
	Duration time.Duration
	// Rate is how many orders are published per second. The publisher pauses
	// while too many are waiting to be handled.
	Rate int
	// Keep leaves the work folder in place at the end.
	Keep bool
}

// Defaults are options under which two members can not quite keep up and three
// can.
func Defaults() Options { return Options{Duration: 12 * time.Second, Rate: 500} }

// ErrViolated is returned when the demo ran to its end and an order was lost,
// duplicated, out of order or handled twice at once. The details are printed.
var ErrViolated = errors.New("the group did not keep its promises")

// demo is one run, as far as it has come.
type demo struct {
	Options
	report report
	fail   context.CancelCauseFunc // ends the run from a goroutine

	work   string // the folder for everything that is written
	server *embedded.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	cli    terraform

	group   string // the group's name, as the example chose it
	current ownership
	check   *checker.Checker
	owners  *owners
	members []*member
	shop    *publisher
}

// step is one chapter of the story.
type step struct {
	title string
	do    func(context.Context) error
}

// Run tells the whole story on out. It returns nil if everything worked and
// nothing was violated, in which case its last line begins with "demo: ok".
// Whatever happens, also when ctx ends in the middle, it ends the processes that
// it started and removes its files before it returns.
func Run(ctx context.Context, out io.Writer, o Options) error {
	if o.Duration <= 0 || o.Rate <= 0 {
		return errors.New("the duration and the rate must be more than zero")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &demo{Options: o, report: report{out}, fail: cancel, check: checker.New(), owners: newOwners()}
	if err := errors.Join(d.tell(ctx), d.cleanUp()); err != nil {
		return err
	}
	v := d.check.Verdict()
	d.report.verdict(v, d.members)
	if !v.OK() {
		return ErrViolated
	}
	return nil
}

// tell is the story without its end.
func (d *demo) tell(ctx context.Context) error {
	var err error
	d.work, err = os.MkdirTemp("", "pcgroups-demo-")
	if err != nil {
		return fmt.Errorf("making a work folder: %w; set TMPDIR to a folder that can be written to", err)
	}
	d.report.intro()
	if d.Keep {
		d.report.kept(d.work)
	}
	for i, s := range d.story() {
		d.report.title(i+1, s.title)
		if err := s.do(ctx); err != nil {
			// A member that failed in the background explains more than the
			// step that was interrupted because of it.
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

// cleanUp undoes what the steps did, in whatever state they left it. It takes no
// context, as it must do its work after the run's has ended; all waits in it are
// bounded.
func (d *demo) cleanUp() error {
	if d.shop != nil {
		d.shop.stop()
	}
	err := d.stopMembers()
	if d.conn != nil {
		d.conn.Close()
	}
	if d.server != nil {
		d.server.Shutdown()
	}
	if d.work == "" || d.Keep {
		return err
	}
	if errRemove := os.RemoveAll(d.work); errRemove != nil {
		err = errors.Join(err, fmt.Errorf("removing the work folder: %w; remove %s by hand", errRemove, d.work))
	}
	return err
}

// stopMembers asks all members to stop, then waits for each.
func (d *demo) stopMembers() error {
	for _, m := range d.members {
		m.session.Stop()
	}
	var errs []error
	for _, m := range d.members {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

// startServer runs a NATS server in this process, with the stream that the group
// is about.
func (d *demo) startServer(ctx context.Context) error {
	var err error
	d.server, err = embedded.Run(embedded.Options{Name: "demo", StoreDir: filepath.Join(d.work, "nats")})
	if err != nil {
		return fmt.Errorf("starting a NATS server: %w; check that %s has space left", err, d.work)
	}
	if d.conn, d.js, err = d.connect("demo"); err != nil {
		return err
	}
	_, err = d.js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{subjects}})
	if err != nil {
		return fmt.Errorf("creating the stream %s: %w", stream, err)
	}
	return nil
}

func (d *demo) connect(name string) (*nats.Conn, jetstream.JetStream, error) {
	nc, err := d.server.Connect(nats.Name(name))
	if err != nil {
		return nil, nil, fmt.Errorf("connecting %s to the NATS server: %w", name, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("connecting %s to JetStream: %w", name, err)
	}
	return nc, js, nil
}
