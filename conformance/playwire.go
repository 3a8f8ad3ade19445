package conformance

import (
	"context"
	"errors"
	"fmt"
)

// playWire runs a wire case with one implementation on a server of its own and
// returns what that sent.
func playWire(ctx context.Context, lab *Lab, c Case, subject Implementation) (transcript, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	b, err := lab.bench(ctx, c.Nodes)
	if err != nil {
		return nil, err
	}
	defer b.close()
	s := &stage{bench: b, ctx: ctx, events: newEvents()}
	if s.cap, err = startCapture(b.url); err != nil {
		return nil, err
	}
	defer s.cap.close()
	if s.peer, err = subject.Open(ctx, b.url, s.events.add); err != nil {
		return nil, err
	}
	if c.WholeSubject && !lab.wholeSubject() {
		c.onOldServer(s)
	} else {
		c.wire(s)
	}
	if err := s.peer.Close(); err != nil {
		s.harness(err)
	}
	return s.script, s.err
}

// checkWire is playWire and what is wrong with it, line by line. Of a case that
// was cut short, as the implementation did not do what was waited for, what it
// sent until then is compared.
func checkWire(ctx context.Context, lab *Lab, c Case, subject Implementation) (texts []string, cut bool, err error) {
	got, err := playWire(ctx, lab, c, subject)
	var m *missing
	if cut = errors.As(err, &m); cut {
		at := "setup"
		if len(got) > 0 {
			at = got[len(got)-1].name
		}
		texts, err = append(texts, fmt.Sprintf("%s: %v", at, m)), nil
	}
	if err != nil || c.gated(lab) {
		return texts, cut, err
	}
	want, err := readGolden(c.Name)
	if err != nil {
		return nil, false, err
	}
	if cut && len(got) < len(want) {
		want = want[:len(got)]
	}
	if !subject.Has(FeatureSortedMembers) {
		got = inOrder(got)
	}
	diffs, err := compareTranscripts(want, got, subject.Has(FeatureBytes))
	return append(texts, diffs...), cut, err
}
