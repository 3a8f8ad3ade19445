package pcgroups

import "time"

// waitOver returns when the pull has stopped and no handler runs; with settle,
// also not before every started message is settled or past its ack deadline, when
// the server gives it to whoever asks. late is a delivery whose handler is still
// running though its deadline is past, if there is one and no other runs.
func (r *runner) waitOver(stopped <-chan struct{}, settle bool) (late *delivery) {
	for {
		changed := r.wait()
		select {
		case <-r.exited:
			stopped = neverStarted // it never would
		default:
		}
		select {
		case <-stopped:
			stopped = nil
			r.lastCame()
		default:
		}
		now := time.Now().UnixNano()
		until := int64(0)
		running := r.running()
		for _, d := range running {
			until = max(until, d.deadline.Load())
		}
		switch {
		case len(running) == 0:
			until = r.lastDeadline(settle)
		case r.acks && until <= now:
			return running[0]
		}
		if len(running) == 0 && until <= now && stopped == nil && !r.working() && !r.pass() {
			return nil
		}
		var deadline <-chan time.Time
		t := time.NewTimer(time.Duration(max(until-now, 0)))
		if r.acks && until > now {
			deadline = t.C
		}
		select {
		case <-stopped:
		case <-changed:
		case <-deadline:
		}
		t.Stop()
	}
}

// pass has what is left run at once. It is false if there is nothing.
func (r *runner) pass() bool { return r.par != nil && r.par.pass(true) }

// lastDeadline is the latest deadline of what is neither settled nor running, in
// Unix nanoseconds, or with settle false of what is yet to run; 0 if there is none.
func (r *runner) lastDeadline(settle bool) int64 {
	if r.par != nil {
		return r.par.lastDeadline(settle)
	}
	latest := int64(0)
	if settle {
		r.mu.Lock()
		defer r.mu.Unlock()
		for d := range r.open {
			latest = max(latest, d.deadline.Load())
		}
	}
	return latest
}

// held is how many messages were delivered that wait for their turn, as far as
// that is known.
func (r *runner) held() int {
	if r.par != nil {
		return r.par.held()
	}
	return 0
}

// waitIdle returns true when no handler runs and the pull has stopped, so that
// what was buffered behind a late one is seen to; false when quit is closed, as a
// handler that hangs must not hold up the end of its session.
func (r *runner) waitIdle(stopped, quit <-chan struct{}) bool {
	for {
		changed := r.wait()
		idle := len(r.running()) == 0
		if idle {
			changed = stopped
		}
		select {
		case <-changed:
			if idle {
				return true
			}
		case <-quit:
			return false
		}
	}
}

// waitPinned returns when a delivery has told the pin, or after a while.
func (r *runner) waitPinned(most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	for {
		changed := r.wait()
		if r.mem.pinID() != "" {
			return
		}
		select {
		case <-changed:
		case <-t.C:
			return
		}
	}
}

// wait returns what wake will close. It must be called before looking at what is
// waited for.
func (r *runner) wait() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	r.waiting.Store(true)
	return r.changed
}

// wake tells waiters that something changed. It costs next to nothing if there
// are none.
func (r *runner) wake() {
	if !r.waiting.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting.Store(false)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
