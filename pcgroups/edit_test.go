package pcgroups

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	oracle "github.com/synadia-io/orbit.go/pcgroups"
	"pgregory.net/rapid"
)

// A change of membership must leave the rest of the stored value alone: a running
// member of the oracle ends when a null becomes an empty list or a -1 disappears,
// and another implementation loses the keys that only it knows.
func TestEditKeepsTheRestOfTheValue(t *testing.T) {
	mappings := []MemberMapping{{"m1", []int{1, 0}}}
	for _, c := range []struct {
		name, value string
		members     []string
		mappings    []MemberMapping
		want        string
	}{
		{"null filters stay null", `{"max_members":2,"partitioning_filters":null}`, []string{"m1"}, nil,
			`{"max_members":2,"partitioning_filters":null,"members":["m1"]}`},
		{"empty filters stay empty", `{"max_members":2,"partitioning_filters":[],"members":["m0"]}`, []string{"m1"}, nil,
			`{"max_members":2,"partitioning_filters":[],"members":["m1"]}`},
		{"absent filters stay absent", `{"max_members":2}`, []string{"m1"}, nil,
			`{"max_members":2,"members":["m1"]}`},
		{"null wildcards and limits of -1 and 0", `{"max_members":2,"partitioning_filters":[{"filter":"a.>","partitioning_wildcards":null},{"filter":"b.>"}],"max_buffered_msg":-1,"max_buffered_bytes":0}`, []string{"m1"}, nil,
			`{"max_members":2,"partitioning_filters":[{"filter":"a.>","partitioning_wildcards":null},{"filter":"b.>"}],"max_buffered_msg":-1,"max_buffered_bytes":0,"members":["m1"]}`},
		{"unknown keys, big numbers, order", `{"z":1e400,"members":["m0"],"max_members":2,"a":{"members":[3],"b":12345678901234567890}}`, []string{"m1"}, nil,
			`{"z":1e400,"members":["m1"],"max_members":2,"a":{"members":[3],"b":12345678901234567890}}`},
		{"blanks inside values", "{ \"max_members\" : 2,\n  \"partitioning_filters\": [ { \"filter\": \"a.>\" } ],\n  \"members\": [ \"m0\" ]\n}\n", []string{"m1"}, nil,
			`{"max_members":2,"partitioning_filters":[ { "filter": "a.>" } ],"members":["m1"]}`},
		{"escapes of other encoders", `{"max_members":2,"partitioning_filters":[{"filter":"a.>"},{"filter":"b.\u003E"}],"x":"\u00e9é\/"}`, []string{"<m>"}, nil,
			`{"max_members":2,"partitioning_filters":[{"filter":"a.>"},{"filter":"b.\u003E"}],"x":"\u00e9é\/","members":["\u003cm\u003e"]}`},
		{"members replaced by mappings", `{"max_members":2,"partitioning_filters":[],"members":["m0"]}`, nil, mappings,
			`{"max_members":2,"partitioning_filters":[],"member_mappings":[{"member":"m1","partitions":[1,0]}]}`},
		{"mappings replaced by members", `{"max_members":2,"member_mappings":[],"partitioning_filters":[]}`, []string{"m1"}, nil,
			`{"max_members":2,"members":["m1"],"partitioning_filters":[]}`},
		{"cleared", `{"max_members":2,"members":["m0"],"partitioning_filters":[],"member_mappings":null}`, []string{}, []MemberMapping{},
			`{"max_members":2,"partitioning_filters":[]}`},
		{"the only key", `{"members":["m0"]}`, nil, nil, `{}`},
		{"an empty object", `{}`, []string{"m1"}, nil, `{"members":["m1"]}`},
		// The decoder takes keys in any case and the last of several, so whatever
		// it would take must go, or the old members come back.
		{"keys in another case", `{"Members":["m0"],"max_members":2,"MEMBER_MAPPINGS":[]}`, []string{"m1"}, nil,
			`{"members":["m1"],"max_members":2}`},
		{"duplicate keys", `{"max_members":2,"members":["m0"],"x":1,"members":["m2"],"memberS":["m3"]}`, []string{"m1"}, nil,
			`{"max_members":2,"members":["m1"],"x":1}`},
		{"escaped key", `{"max_members":2,"\u006dembers":["m0"]}`, []string{"m1"}, nil,
			`{"max_members":2,"members":["m1"]}`},
		{"keys that fold to it only in Unicode", `{"max_members":2,"member` + "\u017f" + `":["m0"]}`, []string{"m1"}, nil,
			`{"max_members":2,"members":["m1"]}`},
		{"duplicates of other keys", `{"max_members":1,"Max_Members":2,"x":1,"x":2}`, []string{"m1"}, nil,
			`{"max_members":1,"Max_Members":2,"x":1,"x":2,"members":["m1"]}`},
		{"keys that only resemble it", `{"max_members":2,"members ":1,"member":2,"_members":3}`, []string{"m1"}, nil,
			`{"max_members":2,"members ":1,"member":2,"_members":3,"members":["m1"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := []byte(c.value)
			got, err := editMembership(value, c.members, c.mappings)
			if err != nil || string(got) != c.want {
				t.Errorf("%s\nbecame %s, %v\nwant   %s", c.value, got, err, c.want)
			}
			if string(value) != c.value {
				t.Error("the stored value was changed in place")
			}
		})
	}
}

// Where the oracle wrote the value, our change of it must be the oracle's change
// of it, byte for byte: then an administration by either side is one and the same
// to every member.
func TestEditEqualsTheOraclesRewrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyElastic.Draw(t, "stored")
		stored, _ := json.Marshal(c)
		c.Members, c.MemberMappings = anyMembership(t, c.MaxMembers)
		want, _ := json.Marshal(c)
		got, err := editMembership(stored, c.Members, ourMappings(c.MemberMappings))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s\nbecame %s, %v\nby the oracle %s", stored, got, err, want)
		}
	})
}

// A change and its reverse must lead back to the same bytes, or every restart of
// a worker that adds itself and leaves again makes the value another one, and
// Terraform sees a drift.
func TestEditThereAndBack(t *testing.T) {
	for name := range elasticWire {
		value := readWire(t, name)
		var c ElasticConsumerGroupConfig
		if err := json.Unmarshal(value, &c); err != nil {
			t.Fatal(err)
		}
		changed, err := editMembership(value, []string{"a", "b"}, nil)
		if err != nil || bytes.Equal(changed, value) {
			t.Fatalf("%s: %s, %v", name, changed, err)
		}
		back, err := editMembership(changed, c.Members, c.MemberMappings)
		if err != nil || !bytes.Equal(back, value) {
			t.Errorf("%s:\n%s came back as\n%s, %v", name, value, back, err)
		}
	}
}

// Half an object or a list must not be completed to a configuration.
func TestEditRefusesWhatIsNoObject(t *testing.T) {
	for _, value := range []string{"", " ", "null", "[1,2]", `"x"`, "7", `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{a:1}`, `{"a":1}}`, `{"a":1}{}`} {
		got, err := editMembership([]byte(value), []string{"m1"}, nil)
		if err == nil {
			t.Errorf("%q became %s", value, got)
		} else if !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%q: %v does not match ErrInvalidConfig", value, err)
		}
	}
}

// topKeys is what the decoder sees of a value besides the membership: its keys in
// order, with their bytes.
func topKeys(value []byte) (keys []string, raws []string) {
	d := json.NewDecoder(bytes.NewReader(value))
	_, _ = d.Token()
	for d.More() {
		key, _ := d.Token()
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return keys, raws
		}
		if name, _ := key.(string); !strings.EqualFold(name, "members") && !strings.EqualFold(name, "member_mappings") {
			keys, raws = append(keys, name), append(raws, string(raw))
		}
	}
	return keys, raws
}

// FuzzEditMembership must not panic on anything. Whatever both sides can read as
// a configuration must be readable afterwards, have the new membership and be the
// same in all the rest.
func FuzzEditMembership(f *testing.F) {
	for name := range elasticWire {
		f.Add(string(readWire(f, name)), "m1", true)
	}
	f.Add(`{"MEMBERS":["x"],"max_members":1,"members":null,"members":["y"],"member_mappings":[{}]}`, "<m>", false)
	f.Add("{ \"max_members\" : 3 , \"x\" : [ 1 , { \"members\" : 2 } ] } ", "", true)
	f.Add(`{"\ud800":1,"max_members":1,"a\u003eb":2}`, "\xff", true)
	f.Add(`[]`, "m", true)
	f.Fuzz(func(t *testing.T, value, member string, mapped bool) {
		members, mappings := []string{member, "z"}, []MemberMapping(nil)
		if mapped {
			members, mappings = nil, []MemberMapping{{Member: member, Partitions: []int{0}}}
		}
		got, err := editMembership([]byte(value), members, mappings)
		var before oracle.ElasticConsumerGroupConfig
		if json.Unmarshal([]byte(value), &before) != nil || strings.TrimSpace(value) == "null" {
			return // no configuration; an error or not, it did not panic
		}
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		var after oracle.ElasticConsumerGroupConfig
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%s\nbecame %s: %v", value, got, err)
		}
		before.Members, before.MemberMappings = nil, nil
		membership := marshal(map[string]any{"members": members, "member_mappings": mappings}) // as it comes out of JSON
		if err := json.Unmarshal(membership, &before); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(after, before) {
			t.Fatalf("%s\nbecame %s:\n%+v, want\n%+v", value, got, after, before)
		}
		keys, raws := topKeys([]byte(value))
		newKeys, newRaws := topKeys(got)
		if !slices.Equal(keys, newKeys) || !slices.Equal(raws, newRaws) {
			t.Fatalf("%s\nbecame %s", value, got)
		}
	})
}
