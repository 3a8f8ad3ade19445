package pcgroups_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	oracle "github.com/synadia-io/orbit.go/pcgroups"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// fixedParts are spellings of the part of an elastic group's configuration that
// no membership change may touch.
var fixedParts = []string{
	`"max_members":4,"partitioning_filters":null`,
	`"max_members":4,"partitioning_filters":[]`,
	`"max_members":4`,
	`"max_members":4,"partitioning_filters":[{"filter":"orders.\u003e","partitioning_wildcards":null}]`,
	`"max_members":4,"partitioning_filters":[{"filter":"orders.>","partitioning_wildcards":[]}]`,
	`"max_members":4,"partitioning_filters":[{"filter":"orders.\u003E"}]`,
	`"max_members":4,"partitioning_filters":[{"filter":"orders.*","partitioning_wildcards":[ 1 ], "note": {"a" : null}}],"max_buffered_msg":-1,"max_buffered_bytes":-1`,
	`"max_members":4,"partitioning_filters":null,"max_buffered_msg":0,"max_buffered_bytes":0`,
	`"max_buffered_msg":null,"partitioning_filters":null,"max_members":4`,
	`"a":"<&>\u2028","max_members":4,"partitioning_filters":[],"Partitions":[1.0, 1e3, 12345678901234567890]`,
}

// A running member of the oracle compares what it watches with reflect.DeepEqual:
// if a membership call turns [] into null, drops a limit of -1, or the reverse,
// every member of the group ends. And what another implementation stores beside
// the known keys is gone after the first call that does not know them (the
// oracle's own calls drop all of it).
func TestAdminKeepsStoredBytes(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	const mapped = `,"member_mappings":[{"member":"m1","partitions":[3,2,1,0]}]`
	for name, c := range map[string]struct {
		before string
		change change
		after  string
	}{
		"add to none":      {"", add("m2", "m1"), `,"members":["m1","m2"]`},
		"add":              {`,"members":["m2","m1"]`, add("m0"), `,"members":["m0","m1","m2"]`},
		"add to empty":     {`,"members":[],"member_mappings":null`, add("m1"), `,"members":["m1"]`},
		"add escaped":      {`,"members":["b"]`, add("a&b"), `,"members":["a\u0026b","b"]`},
		"drop":             {`,"members":["m2","m1"]`, drop("m2"), `,"members":["m1"]`},
		"drop the last":    {`,"members":["m1"]`, drop("m1"), ``},
		"set":              {`,"members":["m1"]`, set("m3", "m2"), `,"members":["m2","m3"]`},
		"set over mapping": {mapped, set("m3"), `,"members":["m3"]`},
		"map":              {`,"members":["m1"]`, mapTo(pcgroups.MemberMapping{Member: "m1", Partitions: []int{3, 2, 1, 0}}), mapped},
		"map nothing too": {"", mapTo(all("m1"), pcgroups.MemberMapping{Member: "m2"}, pcgroups.MemberMapping{Member: "m3", Partitions: []int{}}),
			`,"member_mappings":[{"member":"m1","partitions":[0,1,2,3]},{"member":"m2","partitions":null},{"member":"m3","partitions":[]}]`},
		"unmap":       {mapped, unmap, ``},
		"clear":       {`,"members":["m1"]`, clearAll, ``},
		"clear a map": {mapped, clearAll, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			for _, fixed := range fixedParts {
				for _, tail := range []string{``, `,"unknown":{"filters" : [ ]},"members2":null`} {
					a.put(pcgroups.ElasticBucket, elasticKey, "{"+fixed+c.before+tail+"}")
					must(t, a.do(c.change))
					got, _ := a.stored(pcgroups.ElasticBucket, elasticKey)
					want := "{" + fixed + c.after + tail + "}"
					if c.before == "" { // it goes last then, where the oracle has it
						want = "{" + fixed + tail + c.after + "}"
					}
					if got != want {
						t.Errorf("stored %s, want %s", got, want)
					}
				}
			}
		})
	}
}

// The same for values that the oracle itself has written, by its own measure.
func TestAdminKeepsWhatOracleCompares(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	filters := map[string][]oracle.PartitioningFilter{
		"nil": nil, "empty": {},
		"nil wildcards":   {{Filter: "orders.*"}},
		"empty wildcards": {{Filter: "orders.>", PartitioningWildcards: []int{}}},
		"two":             {{Filter: "orders.*", PartitioningWildcards: []int{1}}, {Filter: "bills.*.*", PartitioningWildcards: []int{2, 1}}},
	}
	for name, f := range filters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			for i, limits := range [][2]int64{{-1, -1}, {0, 0}, {100, -1}, {0, 1 << 20}} {
				group := fmt.Sprintf("cg%d", i)
				_, err := oracle.CreateElastic(a.ctx(), a.js, "ORDERS", group, 4, f, limits[0], limits[1])
				must(t, err)
				_, err = oracle.AddMembers(a.ctx(), a.js, "ORDERS", group, []string{"m1"})
				must(t, err)
				read := func() (c oracle.ElasticConsumerGroupConfig) {
					value, _ := a.stored(pcgroups.ElasticBucket, "ORDERS."+group)
					must(t, json.Unmarshal([]byte(value), &c))
					return c
				}
				want := read()
				want.Members = nil
				for _, change := range []func() error{
					func() error {
						_, err := pcgroups.AddMembers(a.ctx(), a.js, "ORDERS", group, []string{"m2"})
						return err
					},
					func() error {
						return pcgroups.SetMemberMappings(a.ctx(), a.js, "ORDERS", group, []pcgroups.MemberMapping{all("m1")})
					},
					func() error { return pcgroups.DeleteMemberMappings(a.ctx(), a.js, "ORDERS", group) },
				} {
					must(t, change())
					got := read()
					got.Members, got.MemberMappings = nil, nil
					if !reflect.DeepEqual(got, want) {
						t.Errorf("the oracle's members would end: they had %+v and see %+v", want, got)
					}
				}
			}
		})
	}
}

// Groups of before orbit.go v0.2 look, to a reader that does not know their keys,
// like groups without filters. The oracle's first write erases what they are
// keyed by, and every running member ends.
func TestAdminLegacy(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	calls := map[string]named{}
	for name, call := range namers {
		calls[name] = call
	}
	calls["create elastic with mappings"] = func(a *admin, stream, group, member string) error {
		_, err := pcgroups.CreateElastic(a.ctx(), a.js, stream, group, 2, byKey, -1, -1, pcgroups.FailIfExists())
		return err
	}
	calls["get static"] = func(a *admin, stream, group, _ string) error {
		_, err := pcgroups.GetStaticConsumerGroupConfig(a.ctx(), a.js, stream, group)
		return err
	}
	calls["get elastic"] = func(a *admin, stream, group, _ string) error {
		_, err := pcgroups.GetElasticConsumerGroupConfig(a.ctx(), a.js, stream, group)
		return err
	}
	calls["list active static"] = func(a *admin, stream, group, _ string) error {
		_, err := pcgroups.ListStaticActiveMembers(a.ctx(), a.js, stream, group)
		return err
	}
	calls["list active elastic"] = func(a *admin, stream, group, _ string) error {
		_, err := pcgroups.ListElasticActiveMembers(a.ctx(), a.js, stream, group)
		return err
	}
	calls["active elastic"] = func(a *admin, stream, group, member string) error {
		_, _, err := pcgroups.ElasticIsInMembershipAndActive(a.ctx(), a.js, stream, group, member)
		return err
	}
	calls["drop"] = func(a *admin, _, _, member string) error { return a.do(drop(member)) }
	calls["drop nobody"] = func(a *admin, _, _, _ string) error { return a.do(drop("nobody")) }
	calls["unmap"] = func(a *admin, _, _, _ string) error { return a.do(unmap) }
	calls["clear"] = func(a *admin, _, _, _ string) error { return a.do(clearAll) }

	for name, value := range map[string][2]string{ // static, elastic
		"v0.1.0": {`{"max_members":2,"filter":"orders.*","members":["m1","m2"]}`,
			`{"max_members":2,"filter":"orders.*","partitioning_wildcards":[1],"max_buffered_msg":100,"members":["m1","m2"]}`},
		"v0.1.0, mappings": {`{"max_members":1,"filter":"\u003e","member_mappings":[{"member":"m1","partitions":[0]}]}`,
			`{"max_members":1,"filter":"orders.*","partitioning_wildcards":[1],"member_mappings":[{"member":"m1","partitions":[0]}]}`},
		"kebab-case": {`{"max-members":2,"filter":"orders.*","members":["m1"]}`,
			`{"max-members":2,"filter":"orders.*","partitioning-wildcards":[1],"msg-buffer-size":10,"members":["m1"]}`},
		"kebab-case, mappings": {`{"max-members":2,"member-mappings":[{"member":"m1","partitions":[0,1]}]}`,
			`{"max-members":2,"filter":">","member-mappings":[{"member":"m1","partitions":[0,1]}]}`},
		"between the two": {`{"max_members":2,"filter":""}`, `{"max_members":2,"partitioning_filters":null,"filter":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdmin(t)
			a.addStream(groupStream())
			a.put(pcgroups.StaticBucket, "ORDERS.cg", value[0])
			a.put(pcgroups.ElasticBucket, "ORDERS.cg", value[1])
			a.nothingWritten(func() {
				for what, call := range calls {
					err := call(a, "ORDERS", "cg", "m1")
					refused(t, err, pcgroups.ErrLegacyConfig)
					if t.Failed() || !strings.Contains(err.Error(), "create it again with current software") {
						t.Fatalf("%s: %v", what, err)
					}
				}
			})
			for i, list := range []func() ([]string, error){
				func() ([]string, error) { return pcgroups.ListStaticConsumerGroups(a.ctx(), a.js, "ORDERS") },
				func() ([]string, error) { return pcgroups.ListElasticConsumerGroups(a.ctx(), a.js, "ORDERS") },
			} {
				groups, err := list()
				must(t, err)
				sameStrings(t, "groups", groups, "cg")
				bucket := []string{pcgroups.StaticBucket, pcgroups.ElasticBucket}[i]
				if got, revision := a.stored(bucket, "ORDERS.cg"); got != value[i] || revision != 1 {
					t.Errorf("%s: revision %d, %s", bucket, revision, got)
				}
			}
			a.durable("ORDERS", jetstream.ConsumerConfig{Durable: "cg-m1", PriorityGroups: []string{"m1"}, PriorityPolicy: jetstream.PriorityPolicyPinned})
			must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
			must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
			a.nothingLeft()
			if strings.HasPrefix(value[0], `{"max_members":2,"filter":"orders`) {
				sameStrings(t, "consumers", a.consumers("ORDERS"))
			}
		})
	}
}

// A value that is no configuration at all must be told apart from a group that
// is not there: creating over it would hide what went wrong, and may be wrong.
func TestAdminBrokenValue(t *testing.T) {
	t.Parallel()
	a := newAdmin(t)
	for _, value := range []string{``, `no JSON`, `[]`, `null`, `7`, `{"max_members":"two"}`, `{"max_members":-1}`, `{}`,
		`{"max_members":1,"members":["m1"],"member_mappings":[{"member":"m1","partitions":[0]}]}`} {
		a.put(pcgroups.StaticBucket, "ORDERS.cg", value)
		a.put(pcgroups.ElasticBucket, "ORDERS.cg", value)
		a.nothingWritten(func() {
			for what, call := range namers {
				err := call(a, "ORDERS", "cg", "m1")
				refused(t, err, pcgroups.ErrInvalidConfig)
				if errors.Is(err, pcgroups.ErrGroupNotFound) || t.Failed() {
					t.Fatalf("%s with %q: %v", what, value, err)
				}
			}
		})
		must(t, pcgroups.DeleteStatic(a.ctx(), a.js, "ORDERS", "cg"))
		must(t, pcgroups.DeleteElastic(a.ctx(), a.js, "ORDERS", "cg"))
	}
}
