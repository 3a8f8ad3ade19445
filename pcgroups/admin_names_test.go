package pcgroups_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// named is a call that a stream, a group and a member are named to.
type named func(a *admin, stream, group, member string) error

func ignore(jetstream.Msg) {}

// namers are the calls after which something has that name.
var namers = map[string]named{
	"create static": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.CreateStatic(a.ctx(), a.js, stream, group, 1, nil, []string{member}, nil)
		return err
	},
	"create static with mappings": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.CreateStatic(a.ctx(), a.js, stream, group, 1, nil, nil, []pcgroups.MemberMapping{{Member: member, Partitions: []int{0}}})
		return err
	},
	"create elastic": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, stream, group, 1, byKey, -1, -1, pcgroups.WithMembers(member))
		return err
	},
	"create elastic with mappings": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, stream, group, 1, byKey, -1, -1, pcgroups.WithMemberMappings(pcgroups.MemberMapping{Member: member, Partitions: []int{0}}))
		return err
	},
	"add": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.AddMembers(a.ctx(), a.js, stream, group, []string{"m1", member})
		return err
	},
	"set": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.SetMembers(a.ctx(), a.js, stream, group, []string{"m1", member})
		return err
	},
	"map": func(a *admin, stream, group, member string) error {
		return pcgroups.SetMemberMappings(a.ctx(), a.js, stream, group, []pcgroups.MemberMapping{{Member: member, Partitions: []int{0, 1, 2, 3}}})
	},
	"consume static": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.StaticConsume(a.ctx(), a.js, stream, group, member, ignore, strict(0))
		return err
	},
	"consume elastic": func(a *admin, stream, group, member string) error {
		_, err := pcgroups.ElasticConsume(a.ctx(), a.js, stream, group, member, ignore, strict(0))
		return err
	},
}

// A name that the server or the bucket can not hold is found out late: the oracle
// stores the member pod.0, and every instance of it then only logs; a group eu.1
// is listed as eu. Told at once, and why, it is a typing error.
func TestAdminBadNames(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.elasticGroup("cg")
	a.staticGroup("cg", "m1")
	bad := map[string]string{ // the name, and what is to be said about it
		"pod.0": "a dot", "pod 0": "a space", "pod\t0": "a space", "pod*": "a wildcard", ">": "a wildcard",
		"a/b": "a path separator", `a\b`: "a path separator", "a\x00b": "unprintable", "a\u00adb": "unprintable", "a\xffb": "unprintable",
	}
	for what, call := range namers {
		t.Run(what, func(t *testing.T) {
			a := &admin{&fixture{t: t, srv: a.srv, js: a.js}}
			check := func(field, why string, err error) {
				t.Helper()
				refused(t, err, pcgroups.ErrInvalidConfig)
				var c *pcgroups.ConfigError
				if !errors.As(err, &c) || c.Field != field || !strings.Contains(c.Reason, why) {
					t.Errorf("got %v, want one about %s that says %q", err, field, why)
				}
			}
			a.nothingWritten(func() {
				for name, why := range bad {
					check("stream", why, call(a, name, "cg", "m1"))
					check("group", why, call(a, "ORDERS", name, "m1"))
					check("member", why, call(a, "ORDERS", "cg", name))
				}
				check("stream", "empty", call(a, "", "cg", "m1"))
				check("group", "empty", call(a, "ORDERS", "", "m1"))
				check("group", "the character é", call(a, "ORDERS", "café", "m1")) // not in a key
				long := strings.Repeat("x", 256)
				check("member", "the server allows 255", call(a, "ORDERS", "cg", long))
				if !strings.Contains(what, "static") {
					check("group", "the server allows 255", call(a, "ORDERS", long[:249], "m1"))
				}
				if !slices.Contains([]string{"create elastic", "add", "set"}, what) { // those skip it
					check("member", "empty", call(a, "ORDERS", "cg", ""))
				}
			})
		})
	}
	a.nothingWritten(func() {
		_, err := pcgroups.CreateStatic(a.ctx(), a.js, "ORDERS", "new", 1, nil, []string{"m1"}, nil, pcgroups.WithMembers("m1"))
		refused(t, err, pcgroups.ErrInvalidConfig)
	})
}

// A check that refuses what works shuts out the groups of others.
func TestAdminGoodNames(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	long := strings.Repeat("x", 255)
	for group, member := range map[string]string{
		"a-b_c=D9":                   "a-b_c=D9",
		"-":                          "-",
		long[:255-len("ORDERS-")]:    long,
		"eu":                         "café:8080,#1@host(2)",
		"priority-group-of-any-size": "more-than-sixteen-characters",
	} {
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, "ORDERS", group, 1, byKey, -1, -1)
		must(t, err)
		_, err = pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", group, []string{member})
		must(t, err)
		s, err := pcgroups.ElasticConsume(a.ctx(), a.js, "ORDERS", group, member, ignore, strict(0))
		must(t, err)
		if err := s.WaitForConsuming(a.ctx(), true); err != nil {
			t.Errorf("%s/%s: %v, %+v", group, member, err, s.Status())
		}
		s.Stop()
		must(t, s.Wait(a.ctx()))
	}
	for group, member := range map[string]string{"eu": "café", long[:254-len("m1")]: "m1", "a-b_c=D9": "a-b_c=D9"} {
		must(t, namers["create static"](a, "ORDERS", group, member))
		s, err := pcgroups.StaticConsume(a.ctx(), a.js, "ORDERS", group, member, ignore, strict(0))
		must(t, err)
		s.Stop()
		must(t, s.Wait(a.ctx()))
	}
}

// Whatever got into a bucket by other hands must be possible to see and to
// remove, or it stays there for good.
func TestAdminOddKeys(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	const static = `{"max_members":1,"members":["m.1","m 2","m3"]}`
	const elastic = `{"max_members":1,"partitioning_filters":null,"members":["m.1"]}`
	keys := map[string][]string{ // stream and groups
		"ORDERS": {"a.b", "a.b.c", "a/b", "eu", strings.Repeat("x", 300)},
		"S/T":    {"cg"},
		"=":      {"="},
	}
	for stream, groups := range keys {
		for _, group := range groups {
			a.put(pcgroups.StaticBucket, stream+"."+group, static)
			a.put(pcgroups.ElasticBucket, stream+"."+group, elastic)
		}
	}
	a.put(pcgroups.StaticBucket, "ORDERS", static) // of no group
	a.put(pcgroups.StaticBucket, "ORDERS-EU.cg", static)
	a.pinnedDurable("ORDERS", "eu-m3", "0.>")
	for stream, groups := range keys {
		got, err := pcgroups.ListStaticConsumerGroups(a.ctx(), a.js, stream)
		must(t, err)
		sameStrings(t, "static groups", got, groups...)
		got, err = pcgroups.ListElasticConsumerGroups(a.ctx(), a.js, stream)
		must(t, err)
		sameStrings(t, "elastic groups", got, groups...)
		for _, group := range groups {
			sc, err := pcgroups.GetStaticConsumerGroupConfig(a.ctx(), a.js, stream, group)
			must(t, err)
			sameStrings(t, "members", sc.Members, "m.1", "m 2", "m3")
			ec, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, stream, group)
			must(t, err)
			sameStrings(t, "members", ec.Members, "m.1")
			_, err = pcgroups.DeleteMembers(a.ctx(), a.js, stream, group, []string{"m.1"})
			must(t, err)
			must(t, pcgroups.DeleteStatic(a.ctx(), a.js, stream, group))
			must(t, pcgroups.DeleteElastic(a.ctx(), a.js, stream, group))
		}
		for _, list := range []func() ([]string, error){
			func() ([]string, error) { return pcgroups.ListStaticConsumerGroups(a.ctx(), a.js, stream) },
			func() ([]string, error) { return pcgroups.ListElasticConsumerGroups(a.ctx(), a.js, stream) },
		} {
			got, err := list()
			must(t, err)
			sameStrings(t, "left", got)
		}
	}
	sameStrings(t, "consumers", a.consumers("ORDERS"))
	// Names that no key can have: there is nothing, and that is no error.
	for _, name := range []string{"", "*", ">", "a b", "é", "a..b", "."} {
		got, err := pcgroups.ListStaticConsumerGroups(a.ctx(), a.js, name)
		must(t, err)
		sameStrings(t, "groups of "+name, got)
		_, err = pcgroups.GetStaticConsumerGroupConfig(a.ctx(), a.js, "ORDERS", name)
		refused(t, err, pcgroups.ErrGroupNotFound)
		_, err = pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, name, "cg")
		refused(t, err, pcgroups.ErrGroupNotFound)
		for _, stream := range []string{"ORDERS", name} {
			must(t, pcgroups.DeleteStatic(a.ctx(), a.js, stream, name))
			must(t, pcgroups.DeleteElastic(a.ctx(), a.js, stream, name))
		}
	}
}

// A partition count of 0 in a stream's transform crashes a 2.11 server, and one
// beyond 31 bits makes it partition by another number than the members do.
func TestAdminMaxMembers(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	a.nothingWritten(func() {
		for _, n := range []uint{0, math.MaxInt32 + 1, math.MaxUint32 + 2, math.MaxUint} {
			for _, create := range []creation{static(n, nil, []string{"m1"}, nil), elastic(n, byKey, -1, -1)} {
				_, err := create(a)
				refused(t, err, pcgroups.ErrInvalidConfig)
				var c *pcgroups.ConfigError
				if !errors.As(err, &c) || c.Field != "max_members" {
					t.Errorf("%d: %v", n, err)
				}
			}
		}
	})
	for _, create := range []creation{static(math.MaxInt32, nil, nil, nil), elastic(math.MaxInt32, byKey, -1, -1)} {
		_, err := create(a)
		must(t, err)
	}
}
