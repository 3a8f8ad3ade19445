package pcgroups

// CreateOption changes how [CreateStatic] and [CreateElastic] work.
type CreateOption func(*createOptions)

type createOptions struct {
	failIfExists bool
	membership   bool // members or mappings were given
	members      []string
	mappings     []MemberMapping
}

// FailIfExists makes creating a group that exists fail with [ErrGroupExists]
// even if its configuration is the one asked for. By default that is a success
// without a write.
func FailIfExists() CreateOption {
	return func(o *createOptions) { o.failIfExists = true }
}

// WithMembers gives an elastic group its first members in the same write that
// creates it. They are stored sorted and once each. If the group exists, its
// membership is left as it is.
//
// [CreateElastic] fails with [ErrInvalidConfig] and a [*ConfigError] if a name can
// not be a member's, or mappings are given too; so does [CreateStatic] in any case,
// as it takes the members as an argument.
func WithMembers(members ...string) CreateOption {
	return func(o *createOptions) { o.membership, o.members = true, members }
}

// WithMemberMappings gives an elastic group its first members and their
// partitions in the same write that creates it. If the group exists, its
// membership is left as it is.
//
// [CreateElastic] fails with [ErrInvalidConfig] and a [*ConfigError] if the
// mappings do not give every partition to exactly one member, or members are given
// too; so does [CreateStatic] in any case, as it takes the mappings as an argument.
func WithMemberMappings(mappings ...MemberMapping) CreateOption {
	return func(o *createOptions) { o.membership, o.mappings = true, mappings }
}

func createOpts(opts []CreateOption) createOptions {
	var o createOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WriteOption changes how a membership change or a deletion works.
type WriteOption func(*writeOptions)

type writeOptions struct {
	revision uint64 // 0: whatever is there
}

// IfRevision makes a write succeed only while the group's configuration is still
// the one with this revision (see Revision of the configurations); otherwise it
// fails with [ErrConflict] and nothing is written. 0 is no condition.
func IfRevision(revision uint64) WriteOption {
	return func(o *writeOptions) { o.revision = revision }
}

func writeOpts(opts []WriteOption) writeOptions {
	var o writeOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}
