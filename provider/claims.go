package provider

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// The members of an elastic group can be declared in three places, of which a
// group may use one. Terraform can not tell, but while a plan is made every
// resource passes here, so two that would undo each other's work are noticed.

// The places, as they are named to the user.
const (
	inlineOwner     = "members or member_mappings of a pcgroups_elastic_group"
	membershipOwner = "pcgroups_elastic_membership"
	memberOwner     = "pcgroups_elastic_member"
)

// claims are what the resources of one plan say about groups.
type claims struct {
	mu     sync.Mutex
	groups map[[3]string]*claimed
}

// claimed is one group, by its kind, stream and name.
type claimed struct {
	maxMembers *types.Int64           // as the group's own resource plans it, if it has one here
	renewed    bool                   // it is made anew in this run, and so begins without members
	owners     map[string]*claimCount // of the membership, by kind of resource
	members    map[string]*claimCount // of this one member
}

// claimCount counts resources, as well as that can be done: a resource that is
// replaced is planned twice, once as it is and once as a new one, and nothing
// tells it from two resources of which one is new.
type claimCount struct {
	old, new int
	contents map[string]bool // what they want; for one resource that is the same twice
}

func (n claimCount) several() bool { return n.old > 1 || n.new > 1 || len(n.contents) > 1 }

// tally counts one resource.
func tally(in map[string]*claimCount, key string, isNew bool, content string) {
	n := in[key]
	if n == nil {
		n = &claimCount{contents: make(map[string]bool)}
		in[key] = n
	}
	if isNew {
		n.new++
	} else {
		n.old++
	}
	n.contents[content] = true
}

func (c *claims) of(group groupRef) *claimed {
	if c.groups == nil {
		c.groups = make(map[[3]string]*claimed)
	}
	key := [3]string{group.kind, group.stream, group.name}
	if c.groups[key] == nil {
		c.groups[key] = &claimed{owners: make(map[string]*claimCount), members: make(map[string]*claimCount)}
	}
	return c.groups[key]
}

// planned notes the partition count that a group is going to have, and tells
// whether its resource was planned before: as it is, before it is replaced.
func (c *claims) planned(group groupRef, maxMembers types.Int64) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.of(group)
	again = g.maxMembers != nil
	g.maxMembers = &maxMembers
	return again
}

// maxMembers is that count, if the group's resource was planned before.
func (c *claims) maxMembers(group groupRef) (types.Int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.of(group).maxMembers; n != nil {
		return *n, true
	}
	return types.Int64Unknown(), false
}

// renew notes that a group which existed is, or was, made anew in this run.
func (c *claims) renew(group groupRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(group).renewed = true
}

func (c *claims) renewed(group groupRef) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(group).renewed
}

// claim is what a resource that is planned says about a membership.
type claim struct {
	owner   string
	member  string // the one that it manages, if not all
	isNew   bool   // it does not exist yet
	content string // what it wants
}

// add notes who manages a membership, and reports whoever else does.
func (c *claims) add(group groupRef, is claim, diags *diag.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.of(group)
	tally(g.owners, is.owner, is.isNew, is.content)
	if is.owner == memberOwner {
		tally(g.members, is.member, is.isNew, "")
	}
	switch {
	case len(g.owners) > 1:
		owners := make([]string, 0, len(g.owners))
		for _, o := range []string{inlineOwner, membershipOwner, memberOwner} {
			if g.owners[o] != nil {
				owners = append(owners, o)
			}
		}
		diags.AddError("Membership managed in more than one place", fmt.Sprintf(
			"The members of %v are managed by %s. Each apply of one would undo the other's. Keep one of them: "+
				"members or member_mappings where the group and its members belong together, pcgroups_elastic_membership where somebody else owns all the members, "+
				"pcgroups_elastic_member where each member is added on its own.", group, strings.Join(owners, " and by ")))
	case is.owner == membershipOwner && g.owners[membershipOwner].several():
		diags.AddError("Membership managed twice", fmt.Sprintf(
			"There are several pcgroups_elastic_membership resources for %v. Each apply of one would undo the other's. Keep one of them.", group))
	case is.owner == memberOwner && g.members[is.member].several():
		diags.AddError("Member managed twice", fmt.Sprintf(
			"There are several pcgroups_elastic_member resources for member %q of %v. Destroying one would drop the member of the others. Keep one of them.", is.member, group))
	}
}

// whole tells whether all that identifies a resource is known.
func whole(values ...types.String) bool {
	return !slices.ContainsFunc(values, func(v types.String) bool { return v.IsNull() || v.IsUnknown() })
}
