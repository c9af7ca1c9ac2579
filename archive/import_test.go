package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"belfry/inbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink collects what writers are given.
type sink struct {
	mu    sync.Mutex
	got   map[string][]string // guarded by mu: item ids by user, in the order they came
	by    map[string]int      // guarded by mu: the writer of each user
	write func([]inbox.Record) (inbox.ImportOutcome, error)
}

func (s *sink) writers(n int) (writers []func(context.Context, []inbox.Record) (inbox.ImportOutcome, error)) {
	s.got, s.by = map[string][]string{}, map[string]int{}
	for i := range n {
		writers = append(writers, func(_ context.Context, records []inbox.Record) (inbox.ImportOutcome, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, r := range records {
				user := r.Owner()
				if by, ok := s.by[user]; ok && by != i {
					return inbox.ImportOutcome{}, fmt.Errorf("user %s came to two writers", user)
				}
				s.by[user] = i
				s.got[user] = append(s.got[user], r.(*inbox.ItemRecord).ItemID)
			}
			if s.write == nil {
				return inbox.ImportOutcome{New: len(records)}, nil
			}
			return s.write(records)
		})
	}
	return writers
}

func itemLineOf(user, id int) string {
	return lineOf("item", fmt.Sprintf(`"userId":"u%d","itemId":"%d","title":"t","tags":["a"]`, user, id))
}

// many are lines of ten users, of more than two chunks.
const many = 2*chunkLines + 5

func manyLines(bad ...int) io.Reader {
	var b strings.Builder
	for i := range many {
		text := itemLineOf(i%10, i)
		for _, n := range bad {
			if i+1 == n {
				text = "{"
			}
		}
		b.WriteString(text + "\n")
	}
	return strings.NewReader(b.String())
}

// quiet returns a Config that notes faults.
func quiet(s *sink, writers int) (Config, *[]int) {
	var faults []int
	return Config{
		Writers: s.writers(writers), Progress: func(Summary) {}, Fault: func(n int, _ error) { faults = append(faults, n) },
	}, &faults
}

// Each user's lines come to one writer in their order, and one bad line keeps no other out.
func TestImportOrder(t *testing.T) {
	t.Parallel()
	var s sink
	cfg, faults := quiet(&s, 3)
	got, err := Import(t.Context(), manyLines(17, chunkLines+1), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Summary{Through: many, New: many - 2, Bad: 2}, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{17, chunkLines + 1}, *faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for user := range 10 {
		var want []string
		for i := user; i < many; i += 10 {
			if i+1 != 17 && i+1 != chunkLines+1 {
				want = append(want, fmt.Sprint(i))
			}
		}
		if diff := cmp.Diff(want, s.got[fmt.Sprint("u", user)]); diff != "" {
			t.Errorf("user %d (-want +got):\n%.500s", user, diff)
		}
	}
}

// What a writer refuses is told with its line's number, among what could not be read.
func TestImportRefusals(t *testing.T) {
	t.Parallel()
	s := sink{write: func(records []inbox.Record) (out inbox.ImportOutcome, _ error) {
		for i, r := range records {
			switch id := r.(*inbox.ItemRecord).ItemID; id {
			case "4", "8":
				out.Refused = append(out.Refused, inbox.Refusal{Index: i, Message: "no"})
			case "5": // was there
			default:
				out.New++
			}
		}
		return out, nil
	}}
	cfg, faults := quiet(&s, 2)
	got, err := Import(t.Context(), manyLines(7), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Summary{Through: many, New: many - 4, There: 1, Bad: 3}, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{5, 7, 9}, *faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// An import that a writer ends says up to which line everything is in, and counts no further.
func TestImportFails(t *testing.T) {
	t.Parallel()
	down := errors.New("the database is away")
	for _, first := range []int{0, chunkLines, 2 * chunkLines} {
		s := sink{write: func(records []inbox.Record) (inbox.ImportOutcome, error) {
			for _, r := range records {
				if r.(*inbox.ItemRecord).ItemID == fmt.Sprint(first) {
					return inbox.ImportOutcome{}, down
				}
			}
			return inbox.ImportOutcome{New: len(records)}, nil
		}}
		cfg, _ := quiet(&s, 2)
		got, err := Import(t.Context(), manyLines(), cfg)
		if !errors.Is(err, down) || !strings.Contains(err.Error(), fmt.Sprintf("everything up to line %d is imported", first)) {
			t.Errorf("from line %d: got error %v", first+1, err)
		}
		if diff := cmp.Diff(Summary{Through: first, New: first}, got); diff != "" {
			t.Errorf("from line %d: summary (-want +got):\n%s", first+1, diff)
		}
	}
}

// What was read before the input broke is imported.
func TestImportOfBrokenInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var s sink
	cfg, _ := quiet(&s, 2)
	in := io.MultiReader(strings.NewReader(itemLineOf(1, 1)+"\n"+itemLineOf(1, 2)[:9]), iotest.ErrReader(broken))
	got, err := Import(t.Context(), in, cfg)
	if !errors.Is(err, broken) || got.New != 1 || got.Bad != 0 {
		t.Errorf("got %+v and error %v, want one record and %v", got, err, broken)
	}
}

// An import ends with its context although the input says nothing.
func TestImportIsInterrupted(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	var s sink
	cfg, _ := quiet(&s, 2)
	go func() {
		_, _ = io.WriteString(out, itemLineOf(1, 1)+"\n")
		cancel()
	}()
	if _, err := Import(ctx, in, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
