package pcgroups

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// store reads and writes the configurations of one flavour's groups.
type store struct {
	fl *flavour
	js jetstream.JetStream
	kv jetstream.KeyValue
}

// entry is a stored configuration as it is, undecoded.
type entry struct {
	value    []byte
	revision uint64
}

// openStore opens the flavour's bucket. Without one there is no group.
func openStore(ctx context.Context, js jetstream.JetStream, fl *flavour) (*store, error) {
	kv, err := ask(ctx, func(ctx context.Context) (jetstream.KeyValue, error) { return js.KeyValue(ctx, fl.bucket) })
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, because(ErrGroupNotFound, err, "create the group first")
	}
	if err != nil {
		return nil, err
	}
	return &store{fl: fl, js: js, kv: kv}, nil
}

// createStore opens the bucket or creates it: file storage whatever the origin
// uses, and the origin's replicas. Two first creates may both find no bucket;
// the one that comes second finds it then.
func createStore(ctx context.Context, js jetstream.JetStream, fl *flavour, replicas int) (*store, error) {
	for attempt := 0; ; attempt++ {
		s, err := openStore(ctx, js, fl)
		if !errors.Is(err, jetstream.ErrBucketNotFound) {
			return s, err
		}
		kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: fl.bucket, Replicas: replicas, Storage: jetstream.FileStorage,
		})
		if err == nil {
			return &store{fl: fl, js: js, kv: kv}, nil
		}
		if !errors.Is(err, jetstream.ErrBucketExists) || attempt == maxAttempts {
			return nil, fmt.Errorf("create the bucket %s: %w", fl.bucket, err)
		}
	}
}

// maxAttempts bounds loops that can only repeat when someone else interferes.
const maxAttempts = 10

// ask puts a question to the server, and again if no answer comes: a cluster
// drops questions about a stream that it is just creating. The last one gets what
// time ctx has left.
func ask[T any](ctx context.Context, question func(context.Context) (T, error)) (T, error) {
	for patience := time.Second; ; patience *= 2 {
		try, cancel := context.WithTimeout(ctx, patience)
		answer, err := question(try)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// toBucket repeats a request to the bucket while nobody is there to take it: a
// cluster's bucket can be opened a moment before the servers that hold it listen,
// and has no leader for a moment when one goes. (Without JetStream it could not
// have been opened.)
func toBucket[T any](ctx context.Context, request func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		answer, err := request()
		if !errors.Is(err, nats.ErrNoResponders) || attempt == 2*maxAttempts {
			return answer, err
		}
		if jitter(ctx, time.Duration(attempt)*20*time.Millisecond) != nil {
			return answer, err
		}
	}
}

func (s *store) get(ctx context.Context, stream, group string) (entry, error) {
	e, err := toBucket(ctx, func() (jetstream.KeyValueEntry, error) {
		return ask(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
			return s.kv.Get(ctx, ComposeKey(stream, group))
		})
	})
	switch {
	case err == nil:
		return entry{value: e.Value(), revision: e.Revision()}, nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrInvalidKey):
		return entry{}, because(ErrGroupNotFound, err, "check the names of stream and group")
	}
	return entry{}, err
}

// create writes a configuration that must not exist yet.
func (s *store) create(ctx context.Context, stream, group string, value []byte) (revision uint64, err error) {
	revision, err = toBucket(ctx, func() (uint64, error) { return s.kv.Create(ctx, ComposeKey(stream, group), value) })
	if errors.Is(err, jetstream.ErrKeyExists) {
		return 0, because(ErrConflict, err, "another program created the group at the same moment; try again")
	}
	return revision, err
}

// update replaces the configuration that has the given revision.
func (s *store) update(ctx context.Context, stream, group string, value []byte, revision uint64) (uint64, error) {
	revision, err := toBucket(ctx, func() (uint64, error) { return s.kv.Update(ctx, ComposeKey(stream, group), value, revision) })
	return revision, conflict(err)
}

// delete removes the configuration, if revision is not 0 only that one.
func (s *store) delete(ctx context.Context, stream, group string, revision uint64) error {
	var opts []jetstream.KVDeleteOpt
	if revision != 0 {
		opts = append(opts, jetstream.LastRevision(revision))
	}
	_, err := toBucket(ctx, func() (struct{}, error) { return struct{}{}, s.kv.Delete(ctx, ComposeKey(stream, group), opts...) })
	return conflict(err)
}

func conflict(err error) error {
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) {
		return because(ErrConflict, err, "read the group again and decide anew")
	}
	return err
}

// list returns the names of the groups on a stream, whatever they are.
func (s *store) list(ctx context.Context, stream string) ([]string, error) {
	if strings.ContainsAny(stream, ".*>") {
		return nil, nil // it would match the groups of other streams
	}
	lister, err := s.kv.ListKeysFiltered(ctx, ComposeKey(stream, ">"))
	if errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var groups []string
	for key := range lister.Keys() {
		groups = append(groups, strings.TrimPrefix(key, ComposeKey(stream, "")))
	}
	return sortedSet(groups), ctx.Err()
}

// jitter waits for a random time below d, or until ctx ends.
func jitter(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(rand.N(d) + 1)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// call gives a request that has no deadline the client's usual one. Calls that
// consist of several requests would otherwise each get their own.
func call(ctx context.Context, js jetstream.JetStream) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	timeout := js.Options().DefaultTimeout
	if timeout <= 0 {
		timeout = 5 * time.Second
	}
	return context.WithTimeout(ctx, 4*timeout)
}

// failed turns the error of an operation into the package's own.
func failed(op string, stream, group, member string, err error) error {
	if err == nil {
		return nil
	}
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	return &Error{Op: op, Stream: stream, Group: group, Member: member, Err: classify(err)}
}

// classify puts the package's sentinel beside the causes that have one.
func classify(err error) error {
	switch {
	case errors.Is(err, ErrStreamNotFound), errors.Is(err, ErrGroupNotFound), errors.Is(err, ErrConflict):
		return err
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return because(ErrStreamNotFound, err, "create the stream first, or check its name and the account")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return because(ErrJetStreamDisabled, err, "enable it on the server and for the account, or check the domain")
	case errors.Is(err, nats.ErrNoResponders):
		return because(ErrJetStreamDisabled, err, "nobody answered: check that JetStream is enabled on the server and for the account, that the domain is right, and that the cluster has a leader")
	case errors.Is(err, nats.ErrConnectionClosed):
		return because(ErrConnectionClosed, err, "connect again")
	case errors.Is(err, jetstream.ErrInvalidStreamName), errors.Is(err, jetstream.ErrStreamNameRequired):
		return because(ErrStreamNotFound, err, "no stream can have that name; check it")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return because(err, nil, "no answer came in time: check the connection, and that the user may use the JetStream API")
	}
	return err
}
