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
		unheard := errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
		if !unheard || attempt == 2*maxAttempts {
			return answer, err
		}
		if jitter(ctx, 4*attempt) != nil {
			return answer, err
		}
	}
}

// get reads a configuration.
func (s *store) get(ctx context.Context, stream, group string) (entry, error) {
	key := ComposeKey(stream, group)
	e, err := s.fromLeader(ctx, key)
	if err != nil && !noSuchKey(err) && ctx.Err() == nil {
		// There is no leader, or the user may not ask it.
		e, err = s.fromAny(ctx, key)
	}
	if noSuchKey(err) {
		err = because(ErrGroupNotFound, err, "check the names of stream and group, and whether it is a static or an elastic group")
	}
	return e, err
}

func noSuchKey(err error) bool {
	return errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey)
}

// fromLeader reads a key from the leader of the bucket. The client's own Get may
// be answered by any server of a cluster that has the bucket, and most of them
// are a few milliseconds behind: a program would not find the group that it has
// just created, and a change that undoes an earlier one would be taken for one of
// nothing.
func (s *store) fromLeader(ctx context.Context, key string) (entry, error) {
	if !validKey(key) {
		return entry{}, jetstream.ErrInvalidKey
	}
	var opts []nats.JSOpt
	switch o := s.js.Options(); {
	case o.APIPrefix != "":
		opts = append(opts, nats.APIPrefix(o.APIPrefix))
	case o.Domain != "":
		opts = append(opts, nats.Domain(o.Domain))
	}
	js, err := s.js.Conn().JetStream(opts...)
	if err != nil {
		return entry{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	m, err := js.GetLastMsg("KV_"+s.fl.bucket, "$KV."+s.fl.bucket+"."+key, nats.Context(ctx))
	if errors.Is(err, nats.ErrMsgNotFound) {
		return entry{}, jetstream.ErrKeyNotFound
	}
	if err != nil {
		return entry{}, err
	}
	if op := m.Header.Get("KV-Operation"); op == "DEL" || op == "PURGE" || m.Header.Get(jetstream.MarkerReasonHeader) != "" {
		return entry{}, jetstream.ErrKeyNotFound
	}
	return entry{value: m.Data, revision: m.Sequence}, nil
}

// validKey is the client's rule for keys. Others could be wildcards, and find
// another group.
func validKey(key string) bool {
	for token := range strings.SplitSeq(key, ".") {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return !isKeyRune(r) && r != '/' }) {
			return false
		}
	}
	return true
}

func (s *store) fromAny(ctx context.Context, key string) (entry, error) {
	e, err := toBucket(ctx, func() (jetstream.KeyValueEntry, error) {
		return ask(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return s.kv.Get(ctx, key) })
	})
	if err != nil {
		return entry{}, err
	}
	return entry{value: e.Value(), revision: e.Revision()}, nil
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

// jitter waits before the next attempt for a random time, at most 5 ms after the
// first one and more after each, or until ctx ends.
func jitter(ctx context.Context, attempt int) error {
	t := time.NewTimer(rand.N(time.Duration(min(attempt, 100)) * 5 * time.Millisecond))
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
