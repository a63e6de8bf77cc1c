package lists

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
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

// Len returns the number of lists, without the empty one.
func (r *Registry) Len() int {
	n := -1
	for i := range r.known {
		n += len(*r.known[i].Load())
	}
	return n
}

func number(t testing.TB, r *Registry, list ...string) uint64 {
	t.Helper()
	id, err := r.ID(names(list...), Owner{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestNumbersArePersistent(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	if id := number(t, r); id != Empty || r.Len() != 0 {
		t.Errorf("the empty list has the number %d, and there are %d lists", id, r.Len())
	}
	lists := [][]string{{"age", "name"}, {"name", "age"}, {"agename"}, {"age"}, {""}, {"é", "\x00"}, {strings.Repeat("x", maxName)}}
	ids := map[uint64]bool{}
	for _, l := range lists {
		id := number(t, r, l...)
		if ids[id] || id <= Empty || id >= 1<<idBits {
			t.Errorf("%.20q has the number %d", l, id)
		}
		ids[id] = true
	}
	// Numbers must never change: clients keep them.
	if id := number(t, r, "age", "name"); id != 2571754138643608 {
		t.Errorf("the list age, name has the number %d", id)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	again, other := open(t, dir), open(t, t.TempDir())
	if again.Len() != len(lists) || other.Len() != 0 {
		t.Fatalf("reopened with %d lists, and %d in the other folder", again.Len(), other.Len())
	}
	for _, l := range lists {
		id := number(t, other, l...)
		got, ok := again.Names(id)
		if !ok || !slices.Equal(got, l) {
			t.Errorf("list %d: got %.20q, %v, want %.20q", id, got, ok, l)
		}
	}
	if got, ok := again.Names(Empty); !ok || len(got) != 0 {
		t.Errorf("the empty list has the names %q", got)
	}
	if got, ok := again.Names(12345); ok {
		t.Errorf("an unused number has the list %q", got)
	}
}

func TestBounds(t *testing.T) {
	r, err := Open(Config{Dir: t.TempDir(), Max: 2, Log: slog.New(slog.DiscardHandler)})
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
		if _, err := r.ID(l, Owner{}); !errors.Is(err, ErrNames) {
			t.Errorf("%d names: %v", len(l), err)
		}
	}
	first := number(t, r, "a")
	for _, long := range []string{strings.Repeat("x", 2*averageBytes), strings.Repeat("x", maxName)} {
		if _, err := r.ID(names(long), Owner{}); !errors.Is(err, ErrFull) {
			t.Errorf("a list of %d bytes with 2 KiB allowed: %v", len(long), err)
		}
	}
	number(t, r, "b")
	if _, err := r.ID(names("c"), Owner{}); !errors.Is(err, ErrFull) {
		t.Errorf("a third list: %v", err)
	}
	if id := number(t, r, "a"); id != first {
		t.Errorf("the number of the list a is %d, and was %d", id, first)
	}
}

func TestCollision(t *testing.T) {
	r := open(t, t.TempDir())
	r.publish(&list{id: idOf(appendNames(nil, names("a"))), names: []string{"other"}})
	if _, err := r.ID(names("a"), Owner{}); !errors.Is(err, ErrCollision) {
		t.Error(err)
	}
}

// TestConcurrentNumbering numbers the same new lists from many goroutines.
func TestConcurrentNumbering(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	const each = 40
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				l := names("n", fmt.Sprint((i*7+g)%each))
				id, err := r.ID(l, Owner{})
				got, ok := r.Names(id)
				if err != nil || !ok || len(got) != 2 || got[1] != string(l[1]) {
					t.Errorf("%s: number %d, %v has the list %q", l[1], id, err, got)
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

func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, errLocked) {
		t.Error(err)
	}
	if _, err := Open(Config{Dir: "/dev/null/lists"}); err == nil {
		t.Error("a folder below a device was opened")
	}
}

// TestConcurrentMaximum numbers more new lists than are allowed from many goroutines.
func TestConcurrentMaximum(t *testing.T) {
	var log strings.Builder
	const limit, goroutines = 20, 8
	dir := t.TempDir()
	r, err := Open(Config{Dir: dir, Max: limit, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var numbered, refused atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range limit / 4 {
				switch _, err := r.ID(names(fmt.Sprint(g, i)), Owner{}); {
				case err == nil:
					numbered.Add(1)
				case errors.Is(err, ErrFull):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := numbered.Load(); n != limit || n+refused.Load() != goroutines*limit/4 || r.Len() != limit {
		t.Errorf("%d lists numbered, %d refused, %d in the registry", n, refused.Load(), r.Len())
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 1 || !strings.Contains(log.String(), "nine tenths") {
		t.Errorf("got the log %s", log.String())
	}
	r.Close()
	log.Reset()
	if r, err = Open(Config{Dir: dir, Max: limit / 2, Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
		t.Fatal(err)
	}
	if r.Len() != limit || !strings.Contains(log.String(), "nine tenths") {
		t.Errorf("%d lists, and the log %s", r.Len(), log.String())
	}
	if _, err := r.ID(names("one more"), Owner{}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

// TestShares numbers lists for keys until their share is used up, also after a restart.
func TestShares(t *testing.T) {
	var log strings.Builder
	dir := t.TempDir()
	var r *Registry
	reopen := func() {
		t.Helper()
		if r != nil {
			r.Close()
		}
		var err error
		if r, err = Open(Config{Dir: dir, Max: 24, Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
	}
	next := 0
	f := func(key string, keys, want int) {
		t.Helper()
		for n := 0; ; n++ {
			next++
			_, err := r.ID(names(fmt.Sprint(next)), Owner{Key: []byte(key), Keys: keys})
			if errors.Is(err, ErrShare) || errors.Is(err, ErrFull) {
				if n != want || errors.Is(err, ErrFull) != (want == 0 && r.Len() == 24) {
					t.Errorf("%s, one of %d keys, numbered %d lists, and then got %v; want %d lists", key, keys, n, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	reopen()
	f("A", 10, 6) // a quarter of all lists, because an even share would be less
	f("A", 10, 0)
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "key=A") {
		t.Errorf("got the log %s", got)
	}
	reopen()
	f("A", 10, 0)
	f("A", 3, 2) // of 8
	f("B", 2, 12)
	if id, err := r.ID(names("1"), Owner{Key: []byte("A"), Keys: 10}); err != nil || id == 0 {
		t.Errorf("a numbered list: got %d, %v", id, err)
	}
	long := names(strings.Repeat("x", 7*averageBytes))
	if _, err := r.ID(long, Owner{Key: []byte("C"), Keys: 4}); !errors.Is(err, ErrShare) {
		t.Errorf("7 KiB with 6 KiB allowed for a key: %v", err)
	}
	for range 4 {
		next++
		number(t, r, fmt.Sprint(next))
	}
	f("B", 1, 0) // the registry is full
	reopen()
	f("D", 2, 0)
}

// TestDiskFails writes to a failing file: no number is returned, then or later.
func TestDiskFails(t *testing.T) {
	r := open(t, t.TempDir())
	number(t, r, "a")
	r.file.f.Close()
	defer func() {
		if r.used.lists != 1 || r.used.bytes != int64(len("a")+1) {
			t.Errorf("the registry counts %+v", r.used)
		}
		if a := r.account(""); a.usage != r.used {
			t.Errorf("the owner is charged with %+v", a.usage)
		}
	}()
	for _, name := range []string{"b", "c"} {
		if id, err := r.ID(names(name), Owner{}); err == nil {
			t.Errorf("%s has the number %d", name, id)
		}
		if r.Len() != 1 {
			t.Errorf("%d lists", r.Len())
		}
	}
	number(t, r, "a")
}

func TestNothingIsAllocatedForKnownLists(t *testing.T) {
	if race.Enabled {
		return
	}
	r := open(t, t.TempDir())
	for _, list := range [][]string{{"age", "name", "a longer name of an attribute"}, {strings.Repeat("x", 20_000), "y"}} {
		id, l := number(t, r, list...), names(list...)
		if n := testing.AllocsPerRun(100, func() {
			if got, err := r.ID(l, Owner{}); got != id || err != nil {
				t.Fatal(got, err)
			}
			if _, ok := r.Names(id); !ok {
				t.Fatal("a numbered list was not found")
			}
		}); n >= 1 { // the garbage collector may empty a pool
			t.Errorf("%v allocations, want none", n)
		}
	}
}
