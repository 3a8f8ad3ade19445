package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// cli is an instance of cg: a folder with its settings, and its processes.
type cli struct {
	bin, home string
	events    func(Event)
	// To look up what a message says: cg prints only its sequence number.
	nc *nats.Conn
	js jetstream.JetStream

	tell     sync.Mutex
	mu       sync.Mutex
	sessions map[string]*cliSession
	running  sync.WaitGroup
}

func openCLI(bin, url string, events func(Event)) (Peer, error) {
	c := &cli{bin: bin, events: events, sessions: map[string]*cliSession{}}
	var err error
	if c.home, err = os.MkdirTemp("", "pcgroups-cg-"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHarness, err)
	}
	// cg connects before it reads its flags, so only the selected context counts.
	contexts := filepath.Join(c.home, "nats", "context")
	err = os.MkdirAll(contexts, 0o700)
	for name, text := range map[string]string{"context.txt": "suite", "context/suite.json": mustJSON(map[string]string{"url": url})} {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.home, "nats", name), []byte(text), 0o600))
	}
	if err == nil {
		c.nc, err = nats.Connect(url, nats.CustomInboxPrefix(suiteInbox), nats.IgnoreDiscoveredServers())
	}
	if err == nil {
		c.js, err = jetstream.New(c.nc)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrHarness, err), os.RemoveAll(c.home))
	}
	return c, nil
}

// Call runs cg once, or for a session until it ends.
func (c *cli) Call(ctx context.Context, r Request) (Answer, error) {
	var out Answer
	var text string
	var err error
	args := func(verb string, more ...string) []string {
		return append(append([]string{r.Flavour}, strings.Fields(verb)...), append([]string{r.Stream, r.Group}, more...)...)
	}
	switch r.Op {
	case OpCreate:
		err = c.create(ctx, r, args)
	case OpList:
		text, err = c.run(ctx, "", r.Flavour, "ls", r.Stream)
		out.Names = listAfter(text, "consumer groups: ")
	case OpDelete:
		_, err = c.run(ctx, "", args("delete --force")...)
	case OpAddMembers:
		text, err = c.run(ctx, "", args("add", r.Members...)...)
		out.Names = listAfter(text, "added members: ")
	case OpDeleteMembers:
		text, err = c.run(ctx, "", args("drop", r.Members...)...)
		out.Names = listAfter(text, "dropped members: ")
	case OpSetMappings:
		_, err = c.run(ctx, "", args("create-mapping", mappingArgs(r.Mappings)...)...)
	case OpDeleteMappings:
		_, err = c.run(ctx, "", args("delete-mapping")...)
	case OpActive:
		text, err = c.run(ctx, "", args("info")...)
		out.Names = listAfter(text, "currently active members: ")
	case OpMembership:
		text, err = c.run(ctx, "", args("member-info", r.Member)...)
		out.Member, out.Active = strings.Contains(text, "is part of"), strings.Contains(text, "and is active")
	case OpStepDown:
		_, err = c.run(ctx, "", args("step-down", r.Member)...)
	case OpConsume:
		err = c.consume(r, append([]string{r.Flavour, "--sleep=" + r.Work.String(), "consume"}, r.Stream, r.Group, r.Member))
	case OpStop:
		c.mu.Lock()
		s := c.sessions[r.Session]
		c.mu.Unlock()
		s.kill()
	default:
		err = fmt.Errorf("%w: cg has no %s", ErrUnsupported, r.Op)
	}
	return out, err
}

func (c *cli) create(ctx context.Context, r Request, args func(string, ...string) []string) error {
	n := strconv.FormatUint(uint64(r.MaxMembers), 10)
	if r.Flavour == Static {
		verb, last := "create balanced", r.Members
		if len(r.Mappings) > 0 {
			verb, last = "create mapped", mappingArgs(r.Mappings)
		}
		a := args(verb, append([]string{n}, last...)...)
		for _, f := range r.Filters {
			a = append(a, "--filter="+f)
		}
		_, err := c.run(ctx, "", a...)
		return err
	}
	a := args("create", n, fmt.Sprintf("--max-buffered-msgs=%d", r.MaxBufferedMsgs), fmt.Sprintf("--max-buffered-bytes=%d", r.MaxBufferedBytes))
	var answers strings.Builder // to the question which wildcards each filter is keyed by
	for _, f := range r.PartitionFilters {
		if len(f.Wildcards) == 0 {
			return fmt.Errorf("%w: cg can not create a filter without wildcards", ErrUnsupported)
		}
		a = append(a, "--filter="+f.Filter)
		fmt.Fprintln(&answers, strings.Trim(fmt.Sprint(f.Wildcards), "[]"))
	}
	_, err := c.run(ctx, answers.String(), a...)
	return err
}

func mappingArgs(m []MemberMapping) []string {
	out := make([]string, len(m))
	for i, e := range m {
		out[i] = e.Member + ":" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(e.Partitions)), ","), "[]")
	}
	return out
}

// listAfter reads a list that cg prints as [a b] behind some words.
func listAfter(text, words string) []string {
	_, rest, found := strings.Cut(text, words+"[")
	list, _, closed := strings.Cut(rest, "]")
	if !found || !closed {
		return nil
	}
	return strings.Fields(list)
}

func (c *cli) run(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.bin, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+c.home)
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(out.Bytes()))
	}
	return out.String(), nil
}

// Close kills what runs.
func (c *cli) Close() error {
	c.mu.Lock()
	for _, s := range c.sessions {
		s.kill()
	}
	c.mu.Unlock()
	c.running.Wait()
	c.nc.Close()
	return os.RemoveAll(c.home)
}
