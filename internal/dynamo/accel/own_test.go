package accel

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// imageNamed returns the image with a one-letter name: "?" is unknown, "-" is absent. A and
// C are in partition x of an index, B and E are in y, and D is in none. E has the value of C.
func imageNamed(name string) image {
	switch name {
	case "?":
		return image{}
	case "-":
		return image{known: true}
	}
	g := ""
	if p := indexPartition(name); p != "" {
		g = `,"g":{"S":"` + p + `"}`
	}
	if name == "E" {
		name = "C"
	}
	return image{known: true, item: []byte(`{"p":{"S":"k"},"v":{"S":"` + name + `"}` + g + `}`)}
}

func indexPartition(name string) string {
	switch name {
	case "A", "C":
		return "x"
	case "B", "E":
		return "y"
	}
	return ""
}

// valueUpdate returns an update that sets the value to that of the image with the given name.
func valueUpdate(name string) *ownUpdate {
	return newOwnUpdate([]byte(`{"p":{"S":"k"}}`), []byte(`"SET v = :v"`), nil, []byte(`{":v":{"S":"`+name+`"}}`))
}

// images returns the images of a change, for example "A>B".
func images(change string) (old, new image) {
	a, b, _ := strings.Cut(change, ">")
	return imageNamed(a), imageNamed(b)
}

// runOwn executes a script of steps on one item and returns the answers to its records:
//
//	+1 -1 1:A>B   write 1 begins, is dropped, ends with these images
//	1:?>B! 1:?>B!!  ends, with movesNew, or movesAll
//	1=C           ends as an update that sets the value to that of C
//	A>B A>B=      a record; one that leaves the item in its partitions of indexes
//	!             reset
func runOwn(o *ownWrites, script string) string {
	writes := map[byte]*ownWrite{}
	var answers []string
	for step := range strings.FieldsSeq(script) {
		switch {
		case step[0] == '+':
			writes[step[1]] = o.begin(7, 0)
		case step[0] == '-' && step[1] != '>':
			writes[step[1]].drop()
		case step == "!":
			o.reset()
		case step[1] == '=':
			writes[step[0]].endUpdate(valueUpdate(step[2:]))
		case step[1] == ':':
			change := strings.TrimRight(step[2:], "!")
			writes[step[0]].movesIndexes(indexMoves(len(step) - 2 - len(change)))
			writes[step[0]].end(images(change))
		default:
			answers = append(answers, answer(o.take(record(step))))
		}
	}
	return strings.Join(answers, " ")
}

// record returns the arguments of take for a change of the item of runOwn.
func record(change string) (item cache.Tag, old, new image, remains bool) {
	change, remains = strings.CutSuffix(change, "=")
	old, new = images(change)
	return 7, old, new, remains
}

func answer(own, exact bool) string {
	switch {
	case exact && own:
		return "exact"
	case own:
		return "own"
	case exact:
		return "impossible"
	}
	return "foreign"
}

func TestOwnWrites(t *testing.T) {
	f := func(script, want string) {
		t.Helper()
		o := newOwnWrites()
		if got := runOwn(o, script); got != want {
			t.Errorf("%s: got %s; want %s", script, got, want)
		}
		o.reset()
		if n := len(o.shard(7).items); n != 0 || o.shard(7).writes != 0 {
			t.Errorf("%s: %d items and %d writes remain after reset", script, n, o.shard(7).writes)
		}
	}
	f("A>B", "foreign")
	f("+1 1:A>B A>B", "exact")
	f("+1 1:?>B A>B", "own")
	f("+1 1:?>B! A>B", "own")
	f("+1 1:?>B A>B=", "own")
	f("+1 1:?>B! A>B=", "exact")
	f("+1 1:?>B! C>D= A>B=", "foreign exact")
	f("+1 1:?>B!! A>B", "exact")
	f("+1 1:A>B ?>B", "own")
	f("+1 1:A>- A>-", "exact")
	f("+1 1:->A ->A", "exact")
	// Each record is recognized once.
	f("+1 1:A>B A>B A>B", "exact foreign")
	// Another image.
	f("+1 1:A>B A>C", "foreign")
	f("+1 1:A>B C>B", "foreign")
	f("+1 1:A>- A>B", "foreign")
	f("+1 1:?>B A>?", "foreign")
	// A write without an expectation.
	f("+1 A>B", "foreign")
	f("+1 -1 A>B", "foreign")
	f("+1 1:A>? A>B", "foreign")
	f("+1 -1 1:A>B A>B", "foreign")
	f("+1 1:A>B -1 A>B", "exact")
	f("+1 1:A>B 1:C>D A>B C>D", "exact foreign")
	f("+1 1:B>B A>B", "foreign")
	f("+1 1:->- A>-", "foreign")
	// A foreign record before the write's own.
	f("+1 1:A>B C>A A>B", "foreign exact")
	f("+1 1:?>B D>C C>A A>B", "foreign foreign own")
	// The write to B may have changed nothing, and the record of C follow it.
	f("+1 1:?>B B>C C>B", "foreign foreign")
	f("+1 1:?>B ?>C C>B", "foreign foreign")
	f("+1 1:?>B C>? C>B", "foreign foreign")
	// The write to B may be the one of the first record.
	f("+1 1:A>B C>B A>B", "foreign foreign")
	// A record that arrives while the write is in flight.
	f("+1 A>B 1:A>B A>B", "foreign foreign")
	f("+1 C>A 1:A>B A>B", "foreign exact")
	f("+1 B>C 1:?>B C>B", "foreign foreign")
	f("+1 C>? 1:A>B A>B", "foreign foreign")
	f("+1 ?>C 1:A>B A>B", "foreign foreign")
	f("+1 C>A -1 1:A>B A>B", "foreign foreign")
	f("+1 "+strings.Repeat("C>D ", maxSeen/2)+"1:A>B A>B", strings.Repeat("foreign ", maxSeen/2)+"exact")
	f("+1 "+strings.Repeat("C>D ", maxSeen/2+1)+"1:A>B A>B", strings.Repeat("foreign ", maxSeen/2+1)+"foreign")
	// Writes that follow one another, each record late.
	f("+1 1:A>B +2 2:B>C +3 3:C>A +4 A>B B>C C>A 4:A>B A>B", "exact exact exact exact")
	f("+1 1:?>B +2 2:?>C +3 3:?>B A>B B>C C>B", "own own own")
	// A write that changed nothing has no record, whether or not its old image is known.
	f("+1 1:A>B +2 2:?>B +3 3:B>C A>B B>C", "exact exact")
	f("+1 1:A>B +2 2:?>B +3 3:?>A A>B B>A A>B", "exact own foreign")
	// Writes that overlap. One that began before the end of another may have been executed
	// before it, which matters if the images are equal.
	f("+1 +2 1:A>B 2:B>C A>B B>C", "exact exact")
	f("+1 +2 1:A>B A>B 2:B>C B>C", "exact exact")
	f("+1 +2 1:A>B 2:?>A A>B B>A", "exact foreign")
	f("+1 1:A>B +2 2:?>A A>B B>A", "exact own")
	f("+1 +2 1:A>B A>B 2:?>A B>A", "exact foreign")
	f("+1 1:A>B +2 A>B 2:?>A B>A", "exact own")
	f("+1 +2 1:A>B 2:?>B A>B A>B", "exact foreign")
	f("+1 1:A>B +2 2:?>B A>B A>B", "exact own")
	// Of two that match, the one that ended first.
	f("+1 1:?>B +2 2:B>C +3 3:?>B A>B B>C C>B", "own exact own")
	f("+1 +2 2:?>B +3 3:?>C 1:?>B A>B B>C", "own own")
	// Updates whose images aren't known.
	f("+1 1=C A>C", "exact")
	f("+1 1=C B>E", "exact")
	f("+1 1=C A>C A>C", "exact foreign")
	f("+1 1=C A>B A>C", "foreign foreign")
	f("+1 1=C A>E A>C", "foreign foreign")
	f("+1 1=C C>E A>C", "foreign foreign") // it may have been executed before that record
	f("+1 1=C ?>C A>C", "foreign foreign")
	f("+1 1=C A>? A>C", "foreign foreign")
	f("+1 A>C 1=C A>C", "foreign foreign")
	f("+1 1=C +2 2=A A>C C>A", "exact exact")
	f("+1 1=C +2 A>C 2=A C>A", "exact exact")
	f("+1 +2 1=C 2=A A>C C>A", "exact foreign")
	f("+1 1=C +2 2:?>B A>C C>B", "exact own")
	f("+1 1=C ! A>C", "foreign")
	f("+1 1=C -1 A>C", "exact")
	f("+1 -1 1=C A>C", "foreign")
	// Records were missed.
	f("+1 1:A>B ! A>B", "foreign")
	f("+1 ! 1:A>B A>B", "foreign")
	f("+1 ! -1 +2 2:A>B A>B", "exact")
	// Too many writes of the item: all are forgotten, also those in flight.
	many := strings.Repeat("+2 2:A>B ", maxWritesOfOne-1)
	f("+1 "+many+"1:B>C B>C", "exact")
	f("+1 "+many+"+3 1:B>C 3:C>D B>C", "foreign")
	f("+1 "+many+"+3 1:B>C 3:C>D C>D", "exact")
}

// TestOwnUntracked checks that a write that isn't tracked can be ended.
func TestOwnUntracked(t *testing.T) {
	var w *ownWrite
	w.end(images("A>B"))
	w.endUpdate(valueUpdate("A"))
	w.drop()
}

// TestOwnItems checks that items are independent of each other, in one shard too.
func TestOwnItems(t *testing.T) {
	o := newOwnWrites()
	old, new := images("A>B")
	for _, item := range []cache.Tag{1, 2, 1 + ownShards} {
		o.begin(item, 0).end(old, new)
	}
	if own, _ := o.take(1, new, old, false); own {
		t.Error("a foreign record was recognized")
	}
	for item, want := range map[cache.Tag]bool{1: false, 2: true, 1 + ownShards: true, 3: false} {
		if own, _ := o.take(item, old, new, false); own != want {
			t.Errorf("item %d: recognized: %v", item, own)
		}
	}
}

// TestOwnLimits checks that expectations without a record are bounded, and dropped when they
// are old.
func TestOwnLimits(t *testing.T) {
	o := newOwnWrites()
	old, new := images("A>B")
	track := func(item int, now int64) bool {
		w := o.begin(cache.Tag(item)*ownShards, now)
		w.end(old, new)
		return w != nil
	}
	for i := range maxOwnItems {
		if !track(i, int64(i)) {
			t.Fatalf("item %d is not tracked", i)
		}
	}
	if track(maxOwnItems, maxOwnItems) || !track(0, maxOwnItems) {
		t.Error("the number of items is not bounded, or an item that is tracked isn't any more")
	}
	if o.begin(1, 0) == nil {
		t.Error("a shard is full because of another one")
	}
	kept := 0
	for i := 0; track(i%maxOwnItems, maxOwnItems) && kept < 2*maxOwnWrites; i++ {
		kept++
	}
	if s := &o.shards[0]; s.writes != maxOwnWrites {
		t.Errorf("a shard has %d writes; want %d", s.writes, maxOwnWrites)
	}
	// The first writes of half of the items are too old now.
	if now := int64(maxOwnAge) + maxOwnItems/2; !track(0, now) {
		t.Error("a write is not tracked although there are old ones")
	}
	if s := &o.shards[0]; s.writes != maxOwnWrites-maxOwnItems/2+1 {
		t.Errorf("%d writes remain", s.writes)
	}
	if now := 3 * int64(maxOwnAge); !track(0, now) || len(o.shards[0].items) != 1 || o.shards[0].writes != 1 {
		t.Errorf("%d items and %d writes remain", len(o.shards[0].items), o.shards[0].writes)
	}
}

// TestOwnUpdateLimits checks that the memory of updates is bounded, and counted down to 0.
func TestOwnUpdateLimits(t *testing.T) {
	o := newOwnWrites()
	u := valueUpdate(strings.Repeat("x", 10_000))
	for i := range 2 * maxOwnUpdates / u.size() {
		o.begin(cache.Tag(i%8)*ownShards, 0).endUpdate(u)
	}
	s := &o.shards[0]
	if s.bytes > maxOwnUpdates || s.bytes <= maxOwnUpdates-u.size() || s.writes != s.bytes/u.size() {
		t.Errorf("%d updates of %d bytes have %d", s.writes, u.size(), s.bytes)
	}
	if o.reset(); s.bytes != 0 || s.writes != 0 {
		t.Errorf("%d bytes and %d writes remain", s.bytes, s.writes)
	}
}

func TestImageHash(t *testing.T) {
	hash := func(item string) itemHash {
		t.Helper()
		h, ok := imageHash(image{known: true, item: []byte(item)})
		if !ok {
			t.Errorf("%s has no hash", item)
		}
		return h
	}
	same := func(a, b string) {
		t.Helper()
		if hash(a) != hash(b) {
			t.Errorf("%s and %s have different hashes", a, b)
		}
	}
	same(`{"a":{"S":"x"},"b":{"N":"1.50"}}`, `{"b": {"N":"15e-1"}, "\u0061":{"S":"\u0078"}}`)
	same(`{"a":{"SS":["b","a","\u0063"]}}`, `{"a":{"SS":["c","b","a"]}}`)
	same(`{"a":{"NS":["10","9.0"]}}`, `{"a":{"NS":["9","1e1"]}}`)
	same(`{"a":{"M":{"x":{"L":[{"BS":["AAE=","AA=="]}]},"N":{"N":"1"}}}}`, `{"a":{"M":{"N":{"N":"01"},"x":{"L":[{"BS":["AA==","AAE="]}]}}}}`)
	differ := []string{
		`{}`, `{"a":{"S":"x"}}`, `{"a":{"S":"y"}}`, `{"b":{"S":"x"}}`, `{"a":{"S":"1"}}`, `{"a":{"N":"1"}}`, `{"a":{"B":"AAE="}}`,
		`{"a":{"L":[{"S":"a"},{"S":"b"}]}}`, `{"a":{"L":[{"S":"b"},{"S":"a"}]}}`, `{"a":{"SS":["a","b"]}}`, `{"a":{"SS":["a"]}}`,
		`{"a":{"BOOL":true}}`, `{"a":{"NULL":true}}`, `{"a":{"M":{}}}`, `{"a":{"L":[]}}`, `{"a":{"S":"x"},"b":{"S":"x"}}`,
	}
	seen := map[itemHash]string{}
	absent, ok := imageHash(image{known: true})
	if !ok {
		t.Error("an absent item has no hash")
	}
	seen[absent] = "absent"
	for _, item := range differ {
		h := hash(item)
		if seen[h] != "" {
			t.Errorf("%s and %s have the same hash", item, seen[h])
		}
		seen[h] = item
	}
	for _, item := range []string{``, `[`, `{"a":{"S":"x"}`, `{"a":{"S":"x"},"a":{"S":"x"}}`, `{"a":{"N":"x"}}`, `{"a":{"S":"\ud800"}}`, `{"a":{"SS":["a","\u0061"]}}`} {
		if _, ok := imageHash(image{known: true, item: []byte(item)}); ok {
			t.Errorf("%s has a hash", item)
		}
	}
	if _, ok := imageHash(image{}); ok {
		t.Error("an unknown image has a hash")
	}
	// All processes compute the same hash.
	if got := fmt.Sprintf("%x", hash(`{"a":{"S":"x"}}`)); got != "{1518062b99c58b00 4178f8b8a88fe329}" {
		t.Errorf("got the hash %s", got)
	}
}

// TestOwnConcurrent uses a few items from several goroutines, for the race detector. At the
// end, nothing remains that can't be forgotten.
func TestOwnConcurrent(t *testing.T) {
	o := newOwnWrites()
	old, new := images("A>B")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				item := cache.Tag(i % 3 * ownShards / 2)
				switch (i + g) % 5 {
				case 0:
					o.take(item, old, new, false)
				case 1:
					w := o.begin(item, int64(i)*int64(ownSweep))
					o.take(item, new, old, false)
					w.end(old, new)
				case 2:
					o.begin(item, 0).drop()
				case 3:
					o.begin(item, 0).end(old, new)
				case 4:
					if i%50 == 0 {
						o.reset()
					}
				}
			}
		})
	}
	wg.Wait()
	o.reset()
	for i := range o.shards {
		if s := &o.shards[i]; s.writes != 0 || len(s.items) != 0 {
			t.Errorf("%d writes of %d items remain", s.writes, len(s.items))
		}
	}
}

func TestOwnAllocs(t *testing.T) {
	if race.Enabled {
		return
	}
	o := newOwnWrites()
	old, new := images("A>B")
	if n := testing.AllocsPerRun(200, func() {
		o.begin(7, 0).end(old, new)
		o.take(7, old, new, false)
	}); n > 1 {
		t.Errorf("a write and its record allocate %v times; want 1", n)
	}
	if n := testing.AllocsPerRun(200, func() { o.take(8, old, new, false) }); n != 0 {
		t.Errorf("a foreign record allocates %v times", n)
	}
}

func BenchmarkOwnWrite(b *testing.B) {
	o := newOwnWrites()
	old, new := images("A>B")
	b.ReportAllocs()
	for b.Loop() {
		o.begin(7, 0).end(old, new)
		o.take(7, old, new, false)
	}
}
