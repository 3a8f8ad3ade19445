package conformance

import (
	"encoding/json"
	"fmt"
)

// Buckets of the wire contract.
const (
	staticBucket  = "static-consumer-groups"
	elasticBucket = "elastic-consumer-groups"
	workQueue     = stream + "-" + group
)

// existing makes an elastic group with this membership, as the reference would,
// but past the capture.
func (s *stage) existing(r Request, membership string) {
	if r.Flavour == Static {
		s.origin(partitionedOrigin)
	} else {
		s.origin(plainOrigin)
	}
	if s.err != nil {
		return
	}
	if err := (orbit{}).create(s.ctx, s.js, r); err != nil {
		s.harness(err)
		return
	}
	if membership == "" {
		return
	}
	config, err := orbit{}.get(s.ctx, s.js, r)
	s.harness(err)
	if err == nil {
		s.put(elasticBucket, string(config[:len(config)-1])+","+membership+"}")
	}
}

func members(names ...string) string { return `"members":` + mustJSON(names) }

func mappings(m []MemberMapping) string { return `"member_mappings":` + mustJSON(m) }

// mustJSON encodes what can not fail to be.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %v: %v", v, err))
	}
	return string(b)
}

// elasticAct is one administrative operation on a group that exists.
func elasticAct(name, membership string, r Request, needs ...string) Case {
	r.Flavour, r.Stream, r.Group = Elastic, stream, group
	return Case{Name: "wire/elastic/" + name, Needs: append(needs, Elastic), wire: func(s *stage) {
		s.existing(elasticRequest(3, oneFilter, -1, -1), membership)
		s.do(r.Op, r)
	}}
}

func staticAct(name string, r Request, needs ...string) Case {
	r.Flavour, r.Stream, r.Group = Static, stream, group
	return Case{Name: "wire/static/" + name, Needs: append(needs, Static), wire: func(s *stage) {
		s.existing(staticRequest(2, nil, []string{"m1", "m2"}, nil), "")
		s.do(r.Op, r)
	}}
}

// adminCases cover every administrative operation but creating.
func adminCases() []Case {
	add := func(names ...string) Request { return Request{Op: OpAddMembers, Members: names} }
	drop := func(names ...string) Request { return Request{Op: OpDeleteMembers, Members: names} }
	set := func(m []MemberMapping) Request { return Request{Op: OpSetMappings, Mappings: m} }
	create := func(r Request) Request { return r }
	cases := []Case{
		elasticAct("add/first", "", add("m1")),
		elasticAct("add/several", "", add("m3", "m1", "m2")),
		elasticAct("add/to-others", members("m2"), add("m1")),
		elasticAct("add/there-already", members("m1"), add("m1")),
		elasticAct("add/to-mappings", mappings(twoMappings), add("m3"), FeatureMappings),
		elasticAct("add/keeps-unknown-keys", members("m1")+`,"x-note":"kept"`, add("m2")),
		elasticAct("drop/one", members("m1", "m2", "m3"), drop("m2")),
		elasticAct("drop/last", members("m1"), drop("m1")),
		elasticAct("drop/not-there", members("m1"), drop("m2")),
		elasticAct("set-mappings/first", "", set(twoMappings), FeatureMappings),
		elasticAct("set-mappings/over-members", members("m1", "m2"), set(twoMappings), FeatureMappings),
		elasticAct("set-mappings/same", mappings(twoMappings), set(twoMappings), FeatureMappings),
		elasticAct("set-mappings/invalid", members("m1"), set(twoMappings[:1]), FeatureMappings),
		elasticAct("delete-mappings/some", mappings(twoMappings), Request{Op: OpDeleteMappings}, FeatureMappings),
		elasticAct("delete-mappings/none", members("m1"), Request{Op: OpDeleteMappings}, FeatureMappings),
		elasticAct("recreate/same", members("m1"), create(elasticRequest(3, oneFilter, -1, -1))),
		elasticAct("recreate/other", members("m1"), create(elasticRequest(4, oneFilter, -1, -1))),
		elasticAct("get", members("m1"), Request{Op: OpGet}, FeatureGet),
		elasticAct("list", members("m1"), Request{Op: OpList}),
		elasticAct("active", members("m1"), Request{Op: OpActive}),
		elasticAct("is-member", members("m1"), Request{Op: OpMembership, Member: "m1"}),
		elasticAct("delete", members("m1"), Request{Op: OpDelete}),
		{Name: "wire/elastic/get-missing", Needs: []string{Elastic, FeatureGet}, wire: func(s *stage) {
			s.origin(plainOrigin)
			s.do(OpGet, Request{Op: OpGet, Flavour: Elastic, Stream: stream, Group: group})
		}},
		{Name: "wire/elastic/recreate/stream-missing", Needs: []string{Elastic}, wire: func(s *stage) {
			r := elasticRequest(3, oneFilter, -1, -1)
			s.existing(r, members("m1"))
			if s.err == nil {
				s.harness(s.js.DeleteStream(s.ctx, workQueue))
			}
			s.do(OpCreate, r)
		}},
		staticAct("recreate/same", create(staticRequest(2, nil, []string{"m1", "m2"}, nil))),
		staticAct("recreate/other", create(staticRequest(3, nil, []string{"m1", "m2"}, nil))),
		staticAct("get", Request{Op: OpGet}, FeatureGet),
		staticAct("list", Request{Op: OpList}),
		staticAct("active", Request{Op: OpActive}),
		staticAct("delete", Request{Op: OpDelete}),
	}
	return cases
}
