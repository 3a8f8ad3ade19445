package pcgroups_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// hostile are values that no implementation writes. Most can not be read; what
// the oracle reads too, ours must.
var hostile = map[string]struct {
	value string
	read  bool  // GetElastic… and GetStatic… read it
	is    error // of a member's join
}{
	"empty":               {"", false, pcgroups.ErrInvalidConfig},
	"null":                {"null", false, pcgroups.ErrInvalidConfig},
	"a list":              {"[]", false, pcgroups.ErrInvalidConfig},
	"a text":              {`"max_members"`, false, pcgroups.ErrInvalidConfig},
	"a number":            {"4", false, pcgroups.ErrInvalidConfig},
	"no end":              {`{"max_members":2,"members":["m1"`, false, pcgroups.ErrInvalidConfig},
	"more behind it":      {`{"max_members":2,"members":["m1"]} {}`, false, pcgroups.ErrInvalidConfig},
	"not JSON":            {"\x00\x01\x02", false, pcgroups.ErrInvalidConfig},
	"not UTF-8":           {"\xff\xfe{}", false, pcgroups.ErrInvalidConfig},
	"not a number":        {`{"max_members":NaN,"members":["m1"]}`, false, pcgroups.ErrInvalidConfig},
	"infinite":            {`{"max_members":1e999,"members":["m1"]}`, false, pcgroups.ErrInvalidConfig},
	"a fraction":          {`{"max_members":1.5,"members":["m1"]}`, false, pcgroups.ErrInvalidConfig},
	"negative":            {`{"max_members":-1,"members":["m1"]}`, false, pcgroups.ErrInvalidConfig},
	"zero":                {`{"max_members":0,"members":["m1"]}`, false, pcgroups.ErrInvalidConfig},
	"overflowing":         {`{"max_members":18446744073709551616,"members":["m1"]}`, false, pcgroups.ErrInvalidConfig},
	"wrong types":         {`{"max_members":"2","members":{"m1":true}}`, false, pcgroups.ErrInvalidConfig},
	"a partition too far": {`{"max_members":1,"member_mappings":[{"member":"m1","partitions":[9223372036854775807]}]}`, false, pcgroups.ErrInvalidConfig},
	"a partition below":   {`{"max_members":1,"member_mappings":[{"member":"m1","partitions":[-9223372036854775808]}]}`, false, pcgroups.ErrInvalidConfig},
	"both memberships":    {`{"max_members":1,"members":["m1"],"member_mappings":[{"member":"m1","partitions":[0]}]}`, false, pcgroups.ErrInvalidConfig},
	"legacy":              {`{"max_members":2,"filter":"orders.*","members":["m1"]}`, false, pcgroups.ErrLegacyConfig},
	"deep":                {`{"max_members":2,"members":["m1"],"x":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}", false, pcgroups.ErrInvalidConfig},
	"deep and no end":     {strings.Repeat(`{"a":`, 200_000), false, pcgroups.ErrInvalidConfig},

	// With these a member would need more memory than there is.
	"the most partitions":  {`{"max_members":18446744073709551615,"members":["m1"]}`, true, pcgroups.ErrInvalidConfig},
	"far too many":         {`{"max_members":9223372036854775807,"members":["m1"]}`, true, pcgroups.ErrInvalidConfig},
	"what the server does": {`{"max_members":2147483647,"members":["m1","m2"]}`, true, pcgroups.ErrInvalidConfig},

	"huge and nobody's": {`{"max_members":2,"members":[` + strings.Repeat(`"x",`, 500_000) + `"y"]}`, true, pcgroups.ErrMemberNotInGroup},
	"twice, last wins":  {`{"max_members":2,"members":["m1"],"max_members":0}`, false, pcgroups.ErrInvalidConfig},
}

// largePayload lets values of several megabytes into the bucket.
func largePayload() natstest.Option {
	return natstest.WithConfig(func(o *server.Options) { o.MaxPayload = 16 << 20 })
}

// bounded runs f, which must not take long whatever it was given.
func bounded(t *testing.T, what string, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begun := time.Now()
	err := f(ctx)
	if errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > patience {
		t.Errorf("%s took %v: %v", what, time.Since(begun), err)
	}
	return err
}

// Prevents: whoever may write to the bucket, by mistake or not, bringing down or
// stopping every program that reads it; an error that does not tell that the value
// is at fault.
func TestHostileValues(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	a := newAdmin(t, largePayload())
	a.elasticGroup("cg")
	a.staticGroup("cg", "m1")
	for bucket, kind := range map[string]string{pcgroups.ElasticBucket: "elastic", pcgroups.StaticBucket: "static"} {
		kv, err := a.js.KeyValue(a.ctx(), bucket)
		must(t, err)
		for name, c := range hostile {
			_, err := kv.Put(a.ctx(), "ORDERS.cg", []byte(c.value))
			must(t, err)
			for op, call := range everyCall {
				writes := slices.ContainsFunc([]string{"create ", "delete ", "step down ", "list "}, func(p string) bool { return strings.HasPrefix(op, p) }) && op != "delete member mappings of"
				about := strings.Contains(op, kind) || kind == "elastic" && !strings.Contains(op, "static")
				if writes || !about {
					continue
				}
				if c.read { // the call before may have repaired it
					_, err := kv.Put(a.ctx(), "ORDERS.cg", []byte(c.value))
					must(t, err)
				}
				err := bounded(t, op+" with "+name, func(ctx context.Context) error { return call(ctx, a.js) })
				switch {
				case c.read && !strings.HasPrefix(op, "consume "):
					if err != nil && !errors.Is(err, pcgroups.ErrInvalidConfig) {
						t.Errorf("%s with %s: %v", op, name, err)
					}
				case c.read && kind == "elastic" && errors.Is(c.is, pcgroups.ErrMemberNotInGroup): // waits to be added
				case !errors.Is(err, c.is):
					t.Errorf("%s with %s: %v, want %v", op, name, err, c.is)
				}
			}
			_, err = kv.Put(a.ctx(), "ORDERS.cg", []byte(c.value))
			must(t, err)
			describe := pcgroups.DescribeElastic
			if kind == "static" {
				describe = pcgroups.DescribeStatic
			}
			err = bounded(t, "describe with "+name, func(ctx context.Context) error { _, err := describe(ctx, a.js, "ORDERS", "cg"); return err })
			if (err == nil) != c.read {
				t.Errorf("describe with %s: %v", name, err)
			}
			groups, err := pcgroups.ListElasticConsumerGroups(a.ctx(), a.js, "ORDERS")
			if kind == "static" {
				groups, err = pcgroups.ListStaticConsumerGroups(a.ctx(), a.js, "ORDERS")
			}
			if err != nil || !slices.Equal(groups, []string{"cg"}) {
				t.Errorf("listed with %s: %v, %v", name, groups, err)
			}
		}
	}
}

// Prevents: a running member that panics, hangs or goes on by a configuration that
// is not there any more when the value turns hostile.
func TestValueTurnsHostile(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	a := newAdmin(t, largePayload())
	type running struct {
		what    string
		session pcgroups.Session
	}
	var all []running
	for kind, join := range map[string]consumeFunc{"elastic": pcgroups.ElasticConsume, "static": pcgroups.StaticConsume} {
		for i, name := range slices.Sorted(maps.Keys(hostile)) {
			c := hostile[name]
			if errors.Is(c.is, pcgroups.ErrMemberNotInGroup) {
				continue // a change of the membership, if a strange one
			}
			group := fmt.Sprint("g", i)
			bucket := pcgroups.StaticBucket
			if kind == "elastic" {
				bucket = pcgroups.ElasticBucket
				a.elasticGroup(group, "m1")
			} else {
				a.staticGroup(group, "m1")
			}
			s, err := join(a.ctx(), a.js, "ORDERS", group, "m1", ignore, strict(5*time.Second))
			must(t, err)
			t.Cleanup(func() { s.Stop(); <-s.Closed() })
			kv, err := a.js.KeyValue(a.ctx(), bucket)
			must(t, err)
			_, err = kv.Put(a.ctx(), "ORDERS."+group, []byte(c.value))
			must(t, err)
			all = append(all, running{kind + " with " + name, s})
		}
	}
	for _, r := range all {
		if err := r.session.Wait(a.ctx()); !errors.Is(err, pcgroups.ErrGroupConfigChanged) {
			t.Errorf("%s ended with %v", r.what, err)
		}
	}
}

// Prevents: a session that takes what it can not read, or was refused, for the
// end of the group: a member that may not write must live like any other.
func TestReadOnlyMember(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	f := newFixture(t, withUser(&server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$KV.>", "$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>"}}})...)
	f.elastic(2, "m1")
	js := f.srv.JetStream(nats.UserInfo("some", "x"))
	s, err := pcgroups.ElasticConsume(f.ctx(), js, "ORDERS", "workers", "m1", f.handler("m1", 0), strict(5*time.Second))
	must(t, err)
	t.Cleanup(func() { s.Stop(); <-s.Closed() })
	f.publish(4, 5)
	f.allHandled(20)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = pcgroups.AddMembers(ctx, js, "ORDERS", "workers", []string{"m2"})
	refused(t, err, context.DeadlineExceeded, nats.ErrPermissionViolation)
	if !strings.Contains(err.Error(), `Publish to "$KV.elastic-consumer-groups.ORDERS.workers"`) {
		t.Errorf("the error does not tell what was refused: %v", err)
	}
	if s.Err() != nil || s.Status().Recovered != 0 {
		t.Errorf("the session: %v, %+v", s.Err(), s.Status())
	}
}

// Prevents: a number that nobody meant, of a configuration or an argument, taking
// all the memory of whoever computes partitions from it.
func TestShareIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []uint{math.MaxInt32, math.MaxInt64, math.MaxUint} {
		for _, members := range [][]string{{"m1"}, {"m1", "m2", "m3"}} {
			parts := pcgroups.Assignments(n, members, nil)
			if len(parts) != len(members) || len(parts["m1"]) != 0 {
				t.Errorf("%d partitions of %d: %d", n, len(members), len(parts["m1"]))
			}
			if filters := pcgroups.GeneratePartitionFilters(members, n, nil, "m1", ">"); len(filters) != 0 {
				t.Errorf("%d filters", len(filters))
			}
		}
	}
	const most = 1 << 20
	if parts := pcgroups.Assignments(most, []string{"m1"}, nil); len(parts["m1"]) != most {
		t.Errorf("%d partitions of %d", len(parts["m1"]), most)
	}
	a := newAdmin(t)
	_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "cg", math.MaxInt32, nil, -1, -1, pcgroups.WithMembers("m1"))
	refused(t, err, pcgroups.ErrInvalidConfig)
	_, err = pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "cg", math.MaxInt32, nil, []string{"m1"}, nil)
	refused(t, err, pcgroups.ErrInvalidConfig)
	_, err = pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", "cg", math.MaxInt32, nil, -1, -1)
	must(t, err)
	a.nothingWritten(func() {
		_, err := pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", "cg", []string{"m1"})
		refused(t, err, pcgroups.ErrInvalidConfig)
	})
}
