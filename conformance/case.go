package conformance

import "context"

// Case is one thing that implementations must agree on.
type Case struct {
	// Name has the form wire/… or live/…; the list of divergences refers to it.
	Name string
	// Needs are the features without which an implementation can not take it.
	Needs []string
	// Nodes is the size of the cluster it needs; 0 is a single server.
	Nodes int
	// WholeSubject says that it needs servers that partition by the whole subject.
	WholeSubject bool

	// wire plays the case with the implementation under test.
	wire func(s *stage)
	// live plays it with several, and reports what is wrong.
	live func(ctx context.Context, p *play)
	// roles are who takes part in a live case.
	roles []Implementation
	// onOldServer replaces wire where WholeSubject is missing; without it the case
	// is not for such servers.
	onOldServer func(s *stage)
}
