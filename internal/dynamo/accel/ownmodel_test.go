package accel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// ownRule is the rule of ownWrites for one item, with images named as by imageNamed.
type ownRule interface {
	begin() (write int)
	end(write int, old, new string, moves indexMoves)
	endUpdate(write int, to string)
	drop(write int)
	take(old, new string) (own, exact bool)
	reset()
}

// realRule is the rule as implemented.
type realRule struct {
	own    *ownWrites
	writes []*ownWrite
}

func (r *realRule) begin() int {
	r.writes = append(r.writes, r.own.begin(7, 0))
	return len(r.writes) - 1
}

func (r *realRule) end(write int, old, new string, moves indexMoves) {
	r.writes[write].movesIndexes(moves)
	r.writes[write].end(imageNamed(old), imageNamed(new))
}

func (r *realRule) endUpdate(write int, to string) { r.writes[write].endUpdate(valueUpdate(to)) }

func (r *realRule) drop(write int) { r.writes[write].drop() }

func (r *realRule) take(old, new string) (own, exact bool) {
	return r.own.take(7, imageNamed(old), imageNamed(new), remainsIn(old, new))
}

func (r *realRule) reset() { r.own.reset() }

// Faults of plainRule. Each makes it mistake a foreign record.
const (
	faultNone          = iota
	faultKeepFlying    // a record that isn't recognized doesn't affect writes in flight
	faultKeepPending   // a record that isn't recognized doesn't affect expectations
	faultKeepOverlap   // a recognized record doesn't affect writes in flight
	faultKeepEarlier   // a recognized record removes only its own expectation
	faultKeepIdle      // writes to the old image of a record, which may have changed nothing, are kept
	faultIgnoreOld     // expectations are compared by their new image only
	faultAlwaysMoves   // writes are supposed to move the tags of their new index partitions
	faultAlwaysRemains // records are supposed to leave the item in its index partition
	faultAlwaysExact   // index partitions are never dropped for a recognized record
	faultExpectFailed  // writes that were refused are expected
	faultNoReset       // records were missed, but nothing is forgotten
	faultUpdateAny     // updates are compared by the value that they set only
	faultUpdateFlying  // a record that isn't recognized doesn't affect updates in flight
	faultUpdatePending // a record that isn't recognized doesn't affect updates that have ended
	faults
)

var faultNames = [faults]string{"none", "keep flying", "keep pending", "keep overlap", "keep earlier", "keep idle", "ignore old", "always moves", "always remains", "always exact", "expect failed", "no reset",
	"update any", "update flying", "update pending"}

// plainRule is the rule written plainly, with a fault.
type plainRule struct {
	fault  int
	clock  int
	writes []*plainWrite
}

type plainWrite struct {
	begin, commit int // commit is 0 in flight
	old, new      string
	update        string // in place of them
	moves         indexMoves
	forgotten     bool
	seen          []string // in flight: images of records
}

func (r *plainRule) tick() int {
	r.clock++
	return r.clock
}

func (r *plainRule) begin() int {
	r.writes = append(r.writes, &plainWrite{begin: r.tick()})
	return len(r.writes) - 1
}

func (r *plainRule) end(write int, old, new string, moves indexMoves) {
	w := r.writes[write]
	if w.moves = moves; r.fault == faultAlwaysMoves {
		w.moves = max(moves, movesNew)
	}
	w.old, w.new, w.commit = old, new, r.tick()
	w.forgotten = w.forgotten || old == new || new == "?" || slices.Contains(w.seen, new)
}

func (r *plainRule) endUpdate(write int, to string) {
	w := r.writes[write]
	w.update, w.moves, w.commit = to, movesAll, r.tick()
	w.forgotten = w.forgotten || len(w.seen) > 0 && r.fault != faultUpdateFlying
}

// makes reports whether a write makes the change of a record.
func (r *plainRule) makes(w *plainWrite, old, new string) bool {
	switch {
	case w.update == "":
		return w.new == new && (r.fault == faultIgnoreOld || w.old == "?" || w.old == old)
	case r.fault == faultUpdateAny:
		return new == w.update || new == "E" && w.update == "C"
	}
	return old != new && afterUpdate(old, w.update) == new
}

func (r *plainRule) drop(write int) { r.writes[write].forgotten = true }

func (r *plainRule) take(old, new string) (own, exact bool) {
	var found *plainWrite
	for _, w := range r.writes {
		if w.forgotten || w.commit == 0 || !r.makes(w, old, new) {
			continue
		}
		if found == nil || w.commit < found.commit {
			found = w
		}
	}
	before, keepFlying, keepPending := r.tick(), r.fault == faultKeepFlying, r.fault == faultKeepPending
	if found != nil {
		found.forgotten = true
		before, keepFlying, keepPending = found.commit, r.fault == faultKeepOverlap, r.fault == faultKeepEarlier
	}
	images := []string{new}
	if r.fault != faultKeepIdle {
		images = append(images, old)
	}
	for _, w := range r.writes {
		switch {
		case w.begin >= before:
		case w.commit == 0 && !keepFlying:
			w.seen = append(w.seen, images...)
		case w.commit != 0 && w.update != "" && r.fault != faultUpdatePending:
			w.forgotten = true
		case w.commit != 0 && !keepPending:
			w.forgotten = w.forgotten || slices.Contains(images, w.new)
		}
	}
	remains := remainsIn(old, new) || r.fault == faultAlwaysRemains
	return found != nil, found != nil && (r.fault == faultAlwaysExact || found.old != "?" || found.moves == movesNew && remains || found.moves == movesAll)
}

func (r *plainRule) reset() {
	for _, w := range r.writes {
		w.forgotten = w.forgotten || r.fault != faultNoReset
	}
}

// ownModel is an origin with one item, its stream, and a cache with entries of the item's
// partition ("p") and of the partitions x and y of an index. Its events happen in an order
// given by a random source.
type ownModel struct {
	rule      ownRule
	rng       *rand.Rand
	value     string
	log       []simRecord
	delivered int
	writes    []*simWrite // in flight
	gens      map[string]int
	entries   map[string]simEntry // the oldest valid entry of each tag
	answers   []string            // to the records
	history   []string

	values                   []string // images that are written
	parallel                 int      // writes in flight at most
	foreignRate, deliverRate int
}

type simRecord struct{ old, new string }

// affects reports whether an entry under tag depends on the record.
func (r simRecord) affects(tag string) bool {
	return tag == "p" || indexPartition(r.old) == tag || indexPartition(r.new) == tag
}

// simEntry is an entry that contains the first at records of the log.
type simEntry struct{ gen, at int }

// simWrite is a write through the cache.
type simWrite struct {
	id       int
	to       string // a new image, or an update: "toggle" changes A to C and back, "refused" has no effect
	value    string // of an update whose images aren't known
	hasOld   bool
	unknown  bool // its answer is lost
	quiet    bool // it moves no tag of an index: its record does
	done     bool
	ended    bool
	old, new string // when done
}

// afterUpdate returns the image after the value of old is set to that of the image called to, which is A
// or C. It is "" if there is no such image.
func afterUpdate(old, to string) string {
	switch {
	case old == "A" || old == "C":
		return to
	case (old == "B" || old == "E") && to == "C":
		return "E"
	}
	return ""
}

// remainsIn reports whether a record leaves the item in its partition of the index.
func remainsIn(old, new string) bool { return indexPartition(old) == indexPartition(new) }

func (m *ownModel) note(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

// pick returns one of its arguments.
func (m *ownModel) pick(of ...string) string { return of[m.rng.IntN(len(of))] }

func (m *ownModel) move(tags ...string) {
	for _, tag := range tags {
		m.gens[tag]++
	}
}

// set executes a change at the origin.
func (m *ownModel) set(to string) {
	if to != m.value {
		m.log = append(m.log, simRecord{m.value, to})
		m.value = to
	}
}

func (m *ownModel) begin() {
	w := &simWrite{to: m.pick(m.values...), hasOld: m.rng.IntN(2) == 0, unknown: m.rng.IntN(16) == 0, quiet: m.rng.IntN(4) == 0}
	if m.rng.IntN(4) == 0 {
		w.to = m.pick("toggle", "refused")
	}
	if m.rng.IntN(3) == 0 {
		w.value, w.hasOld, w.quiet = m.pick("A", "C"), false, false
	}
	m.move("p")
	w.id = m.rule.begin()
	m.writes = append(m.writes, w)
	m.note("begin %d", w.id)
}

// execute executes a write at the origin.
func (m *ownModel) execute(w *simWrite) {
	w.done, w.old, w.new = true, m.value, w.to
	if w.value != "" {
		if w.new = afterUpdate(w.old, w.value); w.new == "" {
			w.to = "refused"
		}
	} else if w.to == "toggle" {
		w.hasOld = false // the answer is the new image
		switch m.value {
		case "A":
			w.new = "C"
		case "C":
			w.new = "A"
		default:
			w.to = "refused"
		}
	}
	if w.to == "refused" {
		w.new = w.old
	}
	m.set(w.new)
	m.note("execute %d: %s%s %s>%s", w.id, w.to, w.value, w.old, w.new)
}

// commit ends a write: its tags move, and then its record is expected.
func (m *ownModel) commit(w *simWrite) {
	w.ended = true
	m.move("p")
	switch {
	case w.unknown:
		m.move("x", "y")
		m.rule.drop(w.id)
	case w.to == "refused":
		if p, ok := m.rule.(*plainRule); ok && p.fault == faultExpectFailed {
			p.end(w.id, "?", m.pick("A", "B", "C"), movesSome)
			break
		}
		m.rule.drop(w.id)
	case w.value != "":
		m.move("x", "y")
		m.rule.endUpdate(w.id, w.value)
	case w.quiet:
		m.rule.end(w.id, "?", w.new, movesSome)
	case w.hasOld:
		m.move(indexPartition(w.old), indexPartition(w.new))
		m.rule.end(w.id, w.old, w.new, movesNew)
	case w.to == "toggle":
		m.move(indexPartition(w.new))
		m.rule.end(w.id, "?", w.new, movesNew)
	default:
		m.move("x", "y")
		m.rule.end(w.id, "?", w.new, movesAll)
	}
	m.note("end %d", w.id)
}

// fill stores an entry with the item's present state under each tag that has none. Nothing is
// stored of a partition with a write in flight.
func (m *ownModel) fill() {
	for _, tag := range []string{"p", "x", "y"} {
		e, ok := m.entries[tag]
		if ok && e.gen == m.gens[tag] || tag == "p" && len(m.writes) > 0 {
			continue
		}
		m.entries[tag] = simEntry{m.gens[tag], len(m.log)}
	}
}

// deliver delivers the next record. It returns false if an entry remains valid that lacks it.
func (m *ownModel) deliver() bool {
	if m.delivered == len(m.log) {
		return true
	}
	r := m.log[m.delivered]
	own, exact := m.rule.take(r.old, r.new)
	m.note("record %s>%s: %s", r.old, r.new, answer(own, exact))
	m.answers = append(m.answers, answer(own, exact))
	if !own {
		m.move("p")
	}
	if !exact {
		m.move(indexPartition(r.old), indexPartition(r.new))
	}
	m.delivered++
	for tag, e := range m.entries {
		if e.gen == m.gens[tag] && e.at < m.delivered && r.affects(tag) {
			m.note("stale: %s", tag)
			return false
		}
	}
	return true
}

// skip loses all records that were not delivered. Everything is dropped for them.
func (m *ownModel) skip() {
	m.delivered = len(m.log)
	m.move("p", "x", "y")
	m.rule.reset()
	m.note("skip")
}

// step runs one event. It returns false as deliver does.
func (m *ownModel) step() bool {
	m.fill()
	switch n := m.rng.IntN(30 + m.foreignRate + m.deliverRate); {
	case n < 10:
		if len(m.writes) < m.parallel {
			m.begin()
		}
	case n < 30:
		if len(m.writes) > 0 {
			m.advance(m.writes[m.rng.IntN(len(m.writes))])
		}
	case n >= 30+m.foreignRate:
		return m.deliver()
	case m.rng.IntN(20) == 0:
		m.skip()
	default:
		m.set(m.pick(m.values...))
		m.note("foreign %s", m.value)
	}
	return true
}

// advance executes or ends a write. One whose answer is lost may be executed later.
func (m *ownModel) advance(w *simWrite) {
	switch {
	case !w.done && !(w.unknown && !w.ended && m.rng.IntN(2) == 0):
		m.execute(w)
	case !w.ended:
		m.commit(w)
	}
	if w.done && w.ended {
		m.writes = slices.DeleteFunc(m.writes, func(x *simWrite) bool { return x == w })
	}
}

// newOwnModel returns a model whose history depends on the seed only.
func newOwnModel(rule ownRule, seed uint64) *ownModel {
	rng := rand.New(rand.NewPCG(seed, 1))
	values := []string{"-", "A", "B", "C", "D", "E"}
	rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return &ownModel{values: values[:2+rng.IntN(5)], rule: rule, rng: rng, value: "-", gens: map[string]int{}, entries: map[string]simEntry{},
		parallel: 1 + rng.IntN(3), foreignRate: rng.IntN(6), deliverRate: 1 + rng.IntN(15)}
}

// run runs a random history, then delivers all records. It returns false if an entry was
// valid after the record of a change that it lacks.
func (m *ownModel) run() bool {
	for range 120 {
		if !m.step() {
			return false
		}
	}
	for len(m.writes) > 0 {
		m.advance(m.writes[0])
	}
	for m.delivered < len(m.log) {
		if !m.deliver() {
			return false
		}
	}
	return true
}

// ownHistories returns the number of histories to run.
func ownHistories() uint64 {
	if race.Enabled { // nothing here is concurrent
		return 500
	}
	return 5000
}

// TestOwnModel runs random histories: no entry remains valid after the record of a foreign
// change that it lacks. The answers are those of the rule written plainly.
func TestOwnModel(t *testing.T) {
	answers := map[string]int{}
	for seed := range ownHistories() {
		m, plain := newOwnModel(&realRule{own: newOwnWrites()}, seed), newOwnModel(&plainRule{}, seed)
		if !m.run() {
			t.Fatalf("seed %d: an entry is stale:\n%s", seed, strings.Join(m.history, "\n"))
		}
		plain.run()
		if !slices.Equal(m.history, plain.history) {
			t.Fatalf("seed %d: got\n%s\n\nwant\n%s", seed, strings.Join(m.history, "\n"), strings.Join(plain.history, "\n"))
		}
		for _, a := range m.answers {
			answers[a]++
		}
	}
	t.Log(answers)
	for _, a := range []string{"own", "exact", "foreign"} {
		if answers[a] < int(ownHistories()) {
			t.Errorf("%d records are %s", answers[a], a)
		}
	}
}

// TestOwnModelFaults checks that each clause of the rule is needed: without it, an entry is
// stale in some history.
func TestOwnModelFaults(t *testing.T) {
	const histories = 10_000
	if race.Enabled {
		return
	}
	for fault := faultNone + 1; fault < faults; fault++ {
		seed := uint64(0)
		for seed < histories && newOwnModel(&plainRule{fault: fault}, seed).run() {
			seed++
		}
		t.Logf("%s: history %d", faultNames[fault], seed)
		if seed == histories {
			t.Errorf("%s: no entry is stale", faultNames[fault])
		}
	}
}

// TestOwnSequence checks that without foreign writes each record is recognized, however late
// it is, if the writes of the item follow one another.
func TestOwnSequence(t *testing.T) {
	for seed := range uint64(race.Part(500)) {
		m := newOwnModel(&realRule{own: newOwnWrites()}, seed)
		lag := m.rng.IntN(60)
		for range 100 {
			m.begin()
			w := m.writes[0]
			w.unknown = false
			for m.delivered+lag < len(m.log) {
				m.deliver() // a later write is in flight
			}
			m.execute(w)
			m.commit(w)
			m.writes = nil
		}
		for m.delivered < len(m.log) {
			m.deliver()
		}
		if slices.Contains(m.answers, "foreign") {
			t.Fatalf("seed %d: a record was not recognized:\n%s", seed, strings.Join(m.history, "\n"))
		}
	}
}

// TestOwnCounter checks that the record of each write is recognized although several clients
// update the item at the same time, and others past the cache. Only the records of writes
// that have ended are delivered.
func TestOwnCounter(t *testing.T) {
	type update struct {
		id       int
		own      bool
		old, new string
		ended    bool
	}
	name := func(n int) string { return fmt.Sprint("n", n) }
	for seed := range uint64(race.Part(200)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		rule := &realRule{own: newOwnWrites()}
		var flying, log []*update
		done := 0 // updates executed
		for range 400 {
			switch n := rng.IntN(10); {
			case n < 3 && len(flying) < 4:
				flying = append(flying, &update{id: rule.begin(), own: true})
			case n < 7 && len(flying) > 0:
				i := rng.IntN(len(flying))
				u := flying[i]
				if u.new == "" {
					u.old, u.new = name(done), name(done+1)
					log = append(log, u)
					done++
					break
				}
				rule.end(u.id, []string{"?", u.old}[rng.IntN(2)], u.new, movesSome)
				u.ended = true
				flying = slices.Delete(flying, i, i+1)
			case n == 7 && rng.IntN(10) == 0:
				log = append(log, &update{old: name(done), new: name(done + 1), ended: true})
				done++
			case len(log) > 0 && log[0].ended:
				if own, _ := rule.take(log[0].old, log[0].new); own != log[0].own {
					t.Fatalf("seed %d: the record %s>%s is recognized: %v", seed, log[0].old, log[0].new, own)
				}
				log = log[1:]
			}
		}
	}
}
