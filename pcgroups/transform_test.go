package pcgroups

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nats-io/nats-server/v2/server"
)

// The destination is a wire field of the work-queue stream: any difference from
// the oracle's makes the server refuse to create the group a second time (10058)
// or, worse, puts a message under another subject. The strings are those of the
// published contract.
func TestPartitioningTransformDestination(t *testing.T) {
	for _, c := range []struct {
		filter    string
		wildcards []int
		members   uint
		want      string
	}{
		{"foo.*", []int{1}, 10, "{{Partition(10,1)}}.foo.{{Wildcard(1)}}"},
		{"foo.*.*.>", []int{1, 2}, 4, "{{Partition(4,1,2)}}.foo.{{Wildcard(1)}}.{{Wildcard(2)}}.>"},
		{"*.foo.*.bar.*", []int{3, 1}, 7, "{{Partition(7,3,1)}}.{{Wildcard(1)}}.foo.{{Wildcard(2)}}.bar.{{Wildcard(3)}}"},
		{"foo.*.>", nil, 3, "{{Partition(3)}}.foo.{{Wildcard(1)}}.>"},
		{"foo.*", []int{}, 3, "{{Partition(3)}}.foo.{{Wildcard(1)}}"},
		{">", nil, 1, "{{Partition(1)}}.>"},
		{"foo.>", nil, 2147483647, "{{Partition(2147483647)}}.foo.>"},
		{"fo*.*", []int{1}, 2, "{{Partition(2,1)}}.fo*.{{Wildcard(1)}}"},
		{"日本.*", []int{1}, 2, "{{Partition(2,1)}}.日本.{{Wildcard(1)}}"},
	} {
		if got := PartitioningTransformDestination(PartitioningFilter{c.filter, c.wildcards}, c.members); got != c.want {
			t.Errorf("%s %v: got %s, want %s", c.filter, c.wildcards, got, c.want)
		}
	}
}

// subjectForm is a filter with its key and how many partitions there are.
type subjectForm struct {
	filter    string
	wildcards []int
	n         uint
}

// Tokens that a hash gets wrong when it works on characters, skips separators or
// has a fixed buffer (the server's is 64 bytes).
var subjectTokens = []string{"a", "b", "17", "0", "orders", "é", "日本語", "🙂", "a*b", "x>", "-", "{{x}}", "\xff\xfe", "$1", strings.Repeat("long", 20)}

func randomToken(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return subjectTokens[r.IntN(len(subjectTokens))]
	}
	b := make([]rune, 1+r.IntN(8))
	for i := range b {
		// Letters, digits and anything up to U+07FF but blanks and separators.
		for b[i] = 0; b[i] <= ' ' || strings.ContainsRune(".*>", b[i]); {
			b[i] = rune(r.IntN([]int{0x7f, 0x800}[r.IntN(2)]))
		}
	}
	return string(b)
}

func randomForm(r *rand.Rand) subjectForm {
	f := subjectForm{n: 1 + uint(r.IntN(64))}
	if r.IntN(8) == 0 {
		f.n = 1 + uint(r.IntN(maxPartitions))
	}
	var tokens []string
	stars := 0
	for range r.IntN(5) {
		if r.IntN(5) < 3 {
			tokens = append(tokens, "*")
			stars++
		} else {
			tokens = append(tokens, []string{"foo", "bar", "日本"}[r.IntN(3)])
		}
	}
	if stars == 0 || r.IntN(3) == 0 {
		tokens = append(tokens, ">")
	}
	f.filter = strings.Join(tokens, ".")
	all := r.Perm(stars) // reordered, and mostly not all of them
	for _, w := range all[:r.IntN(stars+1)] {
		f.wildcards = append(f.wildcards, w+1)
	}
	return f
}

func (f subjectForm) randomSubject(r *rand.Rand) string {
	tokens := strings.Split(f.filter, ".")
	for i, token := range tokens {
		switch token {
		case "*":
			tokens[i] = randomToken(r)
		case ">":
			tokens[i] = randomToken(r)
			for range r.IntN(4) {
				tokens = append(tokens, randomToken(r))
			}
		}
	}
	return strings.Join(tokens, ".")
}

// PartitionFor says where a key goes before it is published, and Terraform's
// function of the same name prints it. One subject on which it differs from the
// server sends an operator to the wrong member. The same run shows that our
// destination leaves every subject as it was, with the partition in front.
func TestPartitionForEqualsTheServer(t *testing.T) {
	const forms, subjects = 500, 200
	r := rand.New(rand.NewPCG(1, 2))
	differ, utf8s, whole, reordered := 0, 0, 0, 0
	for range forms {
		f := randomForm(r)
		dest := PartitioningTransformDestination(PartitioningFilter{f.filter, f.wildcards}, f.n)
		tr, err := server.NewSubjectTransform(f.filter, dest)
		if err != nil {
			t.Fatalf("the server refuses %s -> %s: %v", f.filter, dest, err)
		}
		for range subjects {
			subject := f.randomSubject(r)
			want, err := tr.Match(subject)
			if err != nil {
				t.Fatalf("the server does not match %q by %s: %v", subject, f.filter, err)
			}
			p, err := PartitionFor(subject, f.filter, f.wildcards, f.n)
			if got := strconv.Itoa(p) + "." + subject; err != nil || got != want {
				if differ++; differ <= 5 {
					t.Errorf("%q by %s %v of %d: got %q, %v; the server makes %q", subject, f.filter, f.wildcards, f.n, got, err, want)
				}
			}
			if utf8.RuneCountInString(subject) != len(subject) {
				utf8s++
			}
		}
		if len(f.wildcards) == 0 {
			whole++
		}
		if !slices.IsSorted(f.wildcards) {
			reordered++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d subjects differ", differ, forms*subjects)
	}
	if utf8s < 1000 || whole < 20 || reordered < 20 {
		t.Errorf("the run proves little: %d subjects outside ASCII, %d forms by the whole subject, %d reordered", utf8s, whole, reordered)
	}
}

// A partition for a subject that the group would never see is a wrong answer
// that looks like a right one. What matches is for the server to say; subjects
// that nobody can publish are among the candidates.
func TestPartitionForMatchesWhatTheServerMatches(t *testing.T) {
	subjects := []string{"foo", "foo.a", "foo.a.b", "foo.a.b.c", "foo.bar", "bar", "foo.", ".foo", "foo..b", "", ".", "foo.*", "foo.>", "*", ">", "foo.a.", "FOO.a", "foo.a*", "日本", "日本.a"}
	for _, filter := range []string{">", "foo.>", "foo.*", "*", "*.*", "foo.*.>", "*.a.*", "foo.*.b", "*.>", "日本.>"} {
		tr, err := server.NewSubjectTransform(filter, PartitioningTransformDestination(PartitioningFilter{Filter: filter}, 5))
		if err != nil {
			t.Fatalf("the server refuses %s: %v", filter, err)
		}
		for _, subject := range subjects {
			_, want := tr.Match(subject)
			p, err := PartitionFor(subject, filter, nil, 5)
			if (err == nil) != (want == nil) {
				t.Errorf("%q by %s: got %d, %v; the server says %v", subject, filter, p, err, want)
			}
			if err != nil && !errors.Is(err, ErrInvalidConfig) {
				t.Errorf("%q by %s: %v does not match ErrInvalidConfig", subject, filter, err)
			}
		}
	}
}

// Anything that could not be created must be told, not answered: with no
// partitions there is even a division by zero.
func TestPartitionForRefuses(t *testing.T) {
	for _, c := range []struct {
		subject, filter string
		wildcards       []int
		n               uint
		want            string
	}{
		{"foo.a", "foo.*", []int{1}, 0, `max_members: must be at least 1, as it is the number of partitions`},
		{"foo.a", "foo.*", []int{1}, 1 << 31, `max_members: 2147483648 is more than the server can partition by (2147483647)`},
		{"foo.a", "foo.*", []int{1 << 32}, 2, `partitioning_wildcards: 4294967296 is out of range for "foo.*": count its * wildcards from 1 to 1`},
		{"foo.a", "foo.*", []int{1, 1}, 2, `partitioning_wildcards: 2 given for "foo.*", which has 1 * wildcards`},
		{"foo.a.b", "foo.*.*", []int{2, 2}, 2, `partitioning_wildcards: 2 is given twice for "foo.*.*"`},
		{"foo.a", "foo.*", []int{0}, 2, `partitioning_wildcards: 0 is out of range for "foo.*": count its * wildcards from 1 to 1`},
		{"foo.a", "foo.a", nil, 2, `partitioning_filters: "foo.a" needs at least one * wildcard or must end in >`},
		{"foo.a", "", []int{1}, 2, `partitioning_wildcards: 1 given for ">", which has 0 * wildcards`},
		{"bar.a", "foo.*", []int{1}, 2, `subject: "bar.a" does not match the filter "foo.*"`},
		{"foo", "foo.>", nil, 2, `subject: "foo" does not match the filter "foo.>"`},
		{"", "", nil, 2, `subject: "" does not match the filter ">"`},
	} {
		p, err := PartitionFor(c.subject, c.filter, c.wildcards, c.n)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q by %q %v of %d: got %d, %v\nwant %s", c.subject, c.filter, c.wildcards, c.n, p, err, c.want)
		}
	}
	if p, err := PartitionFor("foo.a", "", nil, 5); err != nil || p != mustPartition(t, "foo.a", ">", nil, 5) {
		t.Errorf("no filter is not the same as >: %d, %v", p, err)
	}
}

// Read validation accepts a filter with > before its end, as the oracle's does.
// The wildcards behind that > match nothing, so there is no token to hash: an
// error is due, not a crash of the caller.
func TestPartitionForSurvivesFiltersThatNoServerTakes(t *testing.T) {
	for _, c := range []struct {
		subject, filter string
		wildcards       []int
	}{
		{"foo.a.b", "foo.>.*", []int{1}},
		{"foo.a.b", ">.*", []int{1}},
		{"foo.a.b", "*.>.*", []int{2}},
		{"foo..b", "foo..*", []int{1}},
	} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%q by %s %v: panic: %v", c.subject, c.filter, c.wildcards, r)
				}
			}()
			if p, err := PartitionFor(c.subject, c.filter, c.wildcards, 4); err == nil {
				t.Errorf("%q by %s %v: got %d for a filter that the server refuses", c.subject, c.filter, c.wildcards, p)
			}
		}()
	}
}

// Keys are the chosen tokens joined by nothing, in the order given. These sums
// are those of the FNV specification's own test suite (32 bit FNV-1a), so that
// the agreement above is not one of two equal mistakes.
func TestHashIsFNV1a(t *testing.T) {
	for s, want := range map[string]uint32{"": 0x811c9dc5, "a": 0xe40c292c, "foobar": 0xbf9cf968, "\x00": 0x050c5d1f} {
		if got := fnv1a(fnvOffset32, s); got != want {
			t.Errorf("%q hashes to %#x, want %#x", s, got, want)
		}
	}
	if a, b := mustPartition(t, "x.ab.c", "x.*.*", []int{1, 2}, 1000), mustPartition(t, "x.a.bc", "x.*.*", []int{1, 2}, 1000); a != b {
		t.Errorf("ab+c gives %d, a+bc gives %d", a, b)
	}
	if got, want := mustPartition(t, "x.bar.foo", "x.*.*", []int{2, 1}, maxPartitions), 0xbf9cf968%maxPartitions; got != want {
		t.Errorf("reordered tokens hash to %d, want %d", got, want)
	}
}

func mustPartition(t *testing.T, subject, filter string, wildcards []int, n uint) int {
	t.Helper()
	p, err := PartitionFor(subject, filter, wildcards, n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzPartitionFor must not panic on anything, and where it answers, the answer
// must be a partition that exists.
func FuzzPartitionFor(f *testing.F) {
	f.Add("foo.a", "foo.*", 1, 0, uint(10))
	f.Add("foo.a.b", "foo.*.*", 2, 1, uint(7))
	f.Add("foo.a.b", "foo.>", 0, 0, uint(1))
	f.Add("日本.語", "日本.*", 1, 0, uint(1<<31))
	f.Add("..", "*.>", 1, 0, uint(3))
	f.Fuzz(func(t *testing.T, subject, filter string, first, second int, n uint) {
		for _, wildcards := range [][]int{nil, {first}, {first, second}} {
			p, err := PartitionFor(subject, filter, wildcards, n)
			if err == nil && (p < 0 || uint(p) >= n) {
				t.Fatalf("%q by %q %v: partition %d of %d", subject, filter, wildcards, p, n)
			}
			if err != nil && !errors.Is(err, ErrInvalidConfig) {
				t.Fatalf("%q by %q %v: %v", subject, filter, wildcards, err)
			}
		}
	})
}

func BenchmarkPartitionFor(b *testing.B) {
	for b.Loop() {
		if _, err := PartitionFor("orders.eu.4711.created", "orders.*.*.>", []int{2}, 64); err != nil {
			b.Fatal(fmt.Errorf("bench: %w", err))
		}
	}
}
