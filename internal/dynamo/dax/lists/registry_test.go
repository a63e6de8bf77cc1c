package lists

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func names(list ...string) (b [][]byte) {
	for _, n := range list {
		b = append(b, []byte(n))
	}
	return b
}

func open(t testing.TB, dir string) *Registry {
	t.Helper()
	r, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func number(t testing.TB, r *Registry, list ...string) uint64 {
	t.Helper()
	id, err := r.ID(names(list...))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestNumbersSurviveAndAreTheSameEverywhere(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	if id := number(t, r); id != Empty || r.Len() != 0 {
		t.Errorf("the empty list is %d, and there are %d", id, r.Len())
	}
	lists := [][]string{{"age", "name"}, {"name", "age"}, {"agename"}, {"age"}, {""}, {"é", "\x00"}, {strings.Repeat("x", maxName)}}
	ids := map[uint64]bool{}
	for _, l := range lists {
		id := number(t, r, l...)
		if ids[id] || id <= Empty || id >= 1<<idBits {
			t.Errorf("%.20q is %d", l, id)
		}
		ids[id] = true
	}
	// What clients have been told must not change, ever.
	if id := number(t, r, "age", "name"); id != 2571754138643608 {
		t.Errorf("age, name is %d", id)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, other := open(t, dir), open(t, t.TempDir())
	if again.Len() != len(lists) || other.Len() != 0 {
		t.Fatalf("%d and %d lists", again.Len(), other.Len())
	}
	for _, l := range lists {
		id := number(t, other, l...)
		got, ok := again.Names(id)
		if !ok || !slices.Equal(got, l) {
			t.Errorf("%d is %.20q, %v, and not %.20q", id, got, ok, l)
		}
	}
	if got, ok := again.Names(Empty); !ok || len(got) != 0 {
		t.Errorf("the empty list has %q", got)
	}
	if got, ok := again.Names(12345); ok {
		t.Errorf("a number that nobody has is of %q", got)
	}
}

func TestBounds(t *testing.T) {
	r, err := Open(Config{Dir: t.TempDir(), Max: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	many := make([][]byte, maxNames+1)
	for i := range many {
		many[i] = fmt.Append(nil, i)
	}
	large := make([][]byte, 30)
	for i := range large {
		large[i] = []byte(strings.Repeat("x", 40_000) + fmt.Sprint(i))
	}
	for _, l := range [][][]byte{many, large, names("a", "a"), names(strings.Repeat("x", maxName+1))} {
		if _, err := r.ID(l); !errors.Is(err, ErrNames) {
			t.Errorf("%d names: %v", len(l), err)
		}
	}
	first := number(t, r, "a")
	number(t, r, "b")
	if _, err := r.ID(names("c")); !errors.Is(err, ErrFull) {
		t.Errorf("a third list: %v", err)
	}
	if id := number(t, r, "a"); id != first {
		t.Errorf("a is %d, and was %d", id, first)
	}
}

func TestCollision(t *testing.T) {
	r := open(t, t.TempDir())
	r.publish(&list{id: idOf(appendNames(nil, names("a"))), names: []string{"other"}})
	if _, err := r.ID(names("a")); !errors.Is(err, ErrCollision) {
		t.Error(err)
	}
}

// TestTogether has many number the same new lists at once.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	const each = 40
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				l := names("n", fmt.Sprint((i*7+g)%each))
				id, err := r.ID(l)
				got, ok := r.Names(id)
				if err != nil || !ok || len(got) != 2 || got[1] != string(l[1]) {
					t.Errorf("%s: %d, %v is of %q", l[1], id, err, got)
				}
			}
		})
	}
	wg.Wait()
	if r.Len() != each {
		t.Errorf("%d lists", r.Len())
	}
	r.Close()
	if again := open(t, dir); again.Len() != each {
		t.Errorf("%d lists on disk", again.Len())
	}
}

// TestCutOff opens files that end anywhere: what was told is there, and what follows can
// be written.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	number(t, r, "a", "b")
	path := filepath.Join(dir, fileName)
	one, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	number(t, r, "c")
	r.Close()
	two, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range two {
		want := 0
		if n >= len(one) {
			want = 1
		}
		for _, rest := range []string{"", strings.Repeat("\x00", len(two)-n)} {
			content := string(two[:n]) + rest
			if n < len(header) && rest != "" {
				continue // not even the header: that is damage
			}
			if got, err := reopened(t, content); err != nil || got != want {
				t.Errorf("%d bytes and %d zeros: %d lists, %v", n, len(rest), got, err)
			}
		}
	}
}

// reopened opens a file with that content, numbers a list and opens it once more; it
// returns how many lists were there at first.
func reopened(t *testing.T, content string) (int, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	n := r.Len()
	number(t, r, "new")
	r.Close()
	if again := open(t, dir); again.Len() != n+1 {
		t.Errorf("%d lists, and then %d", n, again.Len())
	}
	return n, nil
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	number(t, r, "a", "b")
	number(t, r, "c")
	r.Close()
	b, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, len(header), len(header) + 5, len(header) + recordHead + 1} {
		bad := slices.Clone(b)
		bad[at] ^= 0x40
		if _, err := reopened(t, string(bad)); err == nil || !strings.Contains(err.Error(), fileName) {
			t.Errorf("a flipped bit at %d: %v", at, err)
		}
	}
}

func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, errLocked) {
		t.Error(err)
	}
	if _, err := Open(Config{Dir: "/dev/null/lists"}); err == nil {
		t.Error("a folder below a file was opened")
	}
}

// TestDiskFails writes to a file that takes nothing: no number is told, and later ones
// are not either.
func TestDiskFails(t *testing.T) {
	r := open(t, t.TempDir())
	number(t, r, "a")
	r.file.f.Close()
	for _, name := range []string{"b", "c"} {
		if id, err := r.ID(names(name)); err == nil {
			t.Errorf("%s is %d", name, id)
		}
		if r.Len() != 1 {
			t.Errorf("%d lists", r.Len())
		}
	}
	number(t, r, "a")
}

func TestNothingIsAllocatedForKnownLists(t *testing.T) {
	r := open(t, t.TempDir())
	l := names("age", "name", "a longer name of an attribute")
	id := number(t, r, "age", "name", "a longer name of an attribute")
	if n := testing.AllocsPerRun(100, func() {
		if got, err := r.ID(l); got != id || err != nil {
			t.Fatal(got, err)
		}
		if _, ok := r.Names(id); !ok {
			t.Fatal("unknown")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(header))
	f.Add(append([]byte(header), appendRecord(appendRecord(nil, []byte("\x01a")), []byte("\x01b\x02cd"))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return
		}
		defer r.Close()
		if _, err := r.ID(names("new")); err != nil {
			t.Fatal(err)
		}
	})
}
