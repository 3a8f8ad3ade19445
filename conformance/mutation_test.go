package conformance

import (
	"strings"
	"testing"
)

// A suite that can not fail proves nothing. Each of these breaks what our library
// sends, on its way to the server, in a way in which some port has been or could
// be wrong; the case must fail and name the break.
func TestEveryBreakIsCaughtAndNamed(t *testing.T) {
	const api = "$JS.API."
	// in replaces text in the body of messages whose subject begins so.
	in := func(subject, old, fresh string) func(*published) {
		return func(m *published) {
			if strings.HasPrefix(m.subject, subject) {
				m.body = strings.ReplaceAll(m.body, old, fresh)
			}
		}
	}
	kv := "$KV."
	consumer := api + "CONSUMER.CREATE.ORDERS"
	pull := api + "CONSUMER.MSG.NEXT."
	workQueueCreate := api + "STREAM.CREATE." + workQueue
	for _, m := range []struct {
		name   string
		case_  string
		change func(*published)
		says   string // part of what must be said
	}{
		{"another JSON tag", "wire/elastic/create/filter-one", in(kv, `"max_buffered_msg"`, `"max_buffered_msgs"`), "added .max_buffered_msgs: -1"},
		{"null for an empty list", "wire/elastic/create/wildcards-empty", in(kv, `"partitioning_wildcards":[]`, `"partitioning_wildcards":null`), ".partitioning_wildcards from [] to null"},
		{"an empty list left out", "wire/elastic/create/wildcards-empty", in(kv, `,"partitioning_wildcards":[]`, ``), "missing .partitioning_filters[0].partitioning_wildcards"},
		{"a limit left out", "wire/elastic/create/filter-one", in(kv, `,"max_buffered_bytes":-1`, ``), "missing .max_buffered_bytes: -1"},
		{"the legacy filter key", "wire/static/create/filter-one", in(kv, `"filters":["orders.*"]`, `"filter":"orders.*"`), `added .filter: "orders.*"`},
		{"other bytes for the same", "wire/elastic/create/wildcards-empty", in(kv, `\u003e`, `>`), "encoding: "},
		{"unsorted members", "wire/elastic/add/several", in(kv, `["m1","m2","m3"]`, `["m3","m1","m2"]`), "reordered .members"},
		{"no compare-and-set", "wire/elastic/add/first", func(m *published) {
			m.header = strings.Replace(m.header, "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Nothing-of-the-Kind!!", 1)
		}, "missing header Nats-Expected-Last-Subject-Sequence"},
		{"create without compare-and-set", "wire/elastic/create/filter-one", func(m *published) {
			m.header = strings.Replace(m.header, "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Nothing-of-the-Kind!!", 1)
		}, "unexpectedly conforms"},
		{"the bucket in memory", "wire/elastic/create/filter-one", in(api+"STREAM.CREATE.KV_", `"storage":"file"`, `"storage":"memory"`), `changed .storage from "file" to "memory"`},
		{"no allow_direct", "wire/elastic/create/filter-one", in(workQueueCreate, `"allow_direct":true`, `"allow_direct":false`), "changed .allow_direct from true to false"},
		{"discard old", "wire/elastic/create/filter-one", in(workQueueCreate, `"discard":"new"`, `"discard":"old"`), `changed .discard from "new" to "old"`},
		{"another partition count", "wire/elastic/create/filter-one", in(workQueueCreate, `{{Partition(6,1)}}`, `{{Partition(5,1)}}`), ".subject_transforms[0].dest"},
		{"another storage", "wire/elastic/create/origin-memory", in(workQueueCreate, `"storage":"memory"`, `"storage":"file"`), `changed .storage from "memory" to "file"`},
		{"another AckWait", "wire/elastic/session/stay/ackwait-default", in(consumer, `"ack_wait":5000000000`, `"ack_wait":30000000000`), "changed .config.ack_wait from 5000000000 to 30000000000"},
		{"another pin timeout", "wire/elastic/session/stay/ackwait-30s", in(consumer, `"priority_timeout":30000000000`, `"priority_timeout":60000000000`), "changed .config.priority_timeout"},
		{"no inactivity threshold", "wire/elastic/session/stay/ackwait-30s", in(consumer, `"inactive_threshold":30000000000,`, ``), "missing .config.inactive_threshold"},
		{"a static inactivity threshold", "wire/static/session/stay/ackwait-30s", in(consumer, `"max_ack_pending":1`, `"max_ack_pending":1,"inactive_threshold":6000000000`), "added .config.inactive_threshold: 6000000000"},
		{"filters in another order", "wire/elastic/session/stay/ackwait-30s", in(consumer, `["0.orders.*","1.orders.*"]`, `["1.orders.*","0.orders.*"]`), "reordered .config.filter_subjects"},
		{"another priority group", "wire/elastic/session/join/mappings-many-filters", in(consumer, `"PCG"`, `"m1"`), `changed .config.priority_groups[0] from "PCG" to "m1"`},
		{"another pull expiry", "wire/elastic/session/stay/ackwait-30s", in(pull, `"expires":15000000000`, `"expires":30000000000`), `"expires":30000000000`},
		{"another heartbeat", "wire/static/session/stay/ackwait-30s", in(pull, `"idle_heartbeat":7500000000`, `"idle_heartbeat":5000000000`), `"idle_heartbeat":5000000000`},
		{"another ack policy", "wire/static/session/stay/ack-explicit", in(consumer, `"ack_policy":"explicit"`, `"ack_policy":"all"`), `changed .config.ack_policy from "explicit" to "all"`},
		{"an update for a create", "wire/elastic/session/stay/ackwait-30s", in(consumer, `"action":"create"`, `"action":""`), `changed .action from "create" to ""`},
		{"the pin kept", "wire/elastic/session/stay/ackwait-30s", func(m *published) {
			m.subject = strings.Replace(m.subject, "CONSUMER.UNPIN.", "CONSUMER.INFO.", 1)
		}, "unexpectedly conforms"},
		{"a member misspelt", "live/static/walk/creator=ours,admin=oracle@v0.2.2,members=oracle@v0.2.2", in(kv, `"m2"`, `"m3"`), "create failed"},
		{"the wrong partitions", "live/elastic/mappings/creator=oracle@v0.2.2,admin=ours,members=oracle@v0.2.2", in(kv, `[{"member":"m1","partitions":[0,3]}`, `[{"member":"m2","partitions":[0,3]}`), "failed"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			lab, err := EmbeddedLab(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			suite := Suite{Lab: lab, Partners: []Implementation{Oracle()}, Select: func(name string) bool { return name == m.case_ },
				Subjects: []Implementation{rewritten(t, Ours(), m.change)}}
			results, err := suite.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if !strings.Contains(strings.Join(r.Implementations, " "), "ours") {
					continue
				}
				if said := differences(r.Differences); r.Status != Fail || !strings.Contains(said, m.says) {
					t.Errorf("%s: %q is not in\n%s%s", r.Status, m.says, said, r.Note)
				}
				return
			}
			t.Fatal("no such case")
		})
	}
}

// The way through the man in the middle must be harmless by itself, or every
// break would be caught for the wrong reason.
func TestNothingBrokenIsNothingFound(t *testing.T) {
	lab, err := EmbeddedLab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	suite := Suite{Lab: lab, Partners: []Implementation{Oracle()}, Subjects: []Implementation{rewritten(t, Ours(), func(*published) {})},
		Select: func(name string) bool {
			return strings.HasPrefix(name, "wire/elastic/create/") || strings.Contains(name, "/session/stay/ackwait-30s")
		}}
	results, err := suite.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status != Pass && r.Status != Known {
			t.Errorf("%s: %s %s%s", r.Case, r.Status, differences(r.Differences), r.Note)
		}
	}
}
