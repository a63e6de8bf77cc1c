package flight

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// The memory that members have not read yet is counted after the flight has ended: the
// object if it is no longer stored, and the buffers that it was made from.
func TestInFlightAfterFlight(t *testing.T) {
	f := func(keep bool, length int64, sizes ...int) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, Limits{}), newSource()
			slow := s.Join(&Request{Query: get(url), Fill: o.fill})
			other := s.Join(&Request{Query: get(url), Fill: o.fill})
			synctest.Wait()
			a := shared(get(url))
			a.Keep = keep
			o.head(a, length)
			want := ""
			for i, n := range sizes {
				b := strings.Repeat(string(rune('a'+i)), n)
				want += b
				o.send(b)
			}
			wantInFlight(t, s, 0)
			o.end(nil)
			synctest.Wait()
			whileStored := s.Stats().InFlight
			if found := s.Find(get(url)).Object; found != nil {
				s.Drop(get(url).Key, found)
			}
			synctest.Wait()
			inFlight := s.Stats().InFlight
			if inFlight < int64(len(want)) || inFlight > 3*int64(len(want)) || (whileStored == inFlight) == keep || s.Stats().Held != 0 {
				t.Errorf("pieces of %v: %d bytes are in flight while the body is stored, %d after that", sizes, whileStored, inFlight)
			}
			if got := rest(t, slow); got != want {
				t.Errorf("the slow reader got %d bytes, want %d", len(got), len(want))
			}
			slow.Leave()
			wantInFlight(t, s, inFlight)
			other.Leave()
			wantInFlight(t, s, 0)
		})
	}
	f(true, 2<<20, 1<<20, 1<<20)
	f(true, -1, 2<<20)
	f(true, -1, 100<<10, 1)
	f(true, 100<<10, 100<<10)
	f(false, 2<<20, 2<<20)
	f(false, -1, 100<<10)
}

// wantInFlight fails unless that many bytes are counted in bodies in flight and taken out of the
// space, in steps of 256 KiB.
func wantInFlight(t *testing.T, s *engine, want int64) {
	t.Helper()
	synctest.Wait()
	const step = 256 << 10
	st, u := s.Stats(), s.space.Usage()
	all := want + st.Held
	if st.InFlight != want || int64(u.Reserved) < all || int64(u.Reserved) >= all+3*step || all == 0 && u.Reserved != 0 {
		t.Fatalf("%d bytes are in flight, %d held by flights, %d reserved; want %d", st.InFlight, st.Held, u.Reserved, want)
	}
}

// wantPace fails unless the client has to read that many bytes a second.
func wantPace(t *testing.T, w *Waiter, want int64) {
	t.Helper()
	if got := w.Pace(); got != want {
		t.Fatalf("the pace is %d bytes a second, want %d", got, want)
	}
}

// While memory is scarce, a slow client has to read the rest of a flight that has ended
// within store.DrainSeconds. While flights hold too much, this applies to the window of a
// running flight.
func TestPaceOfFlight(t *testing.T) {
	f := func(keep, ends bool, limits Limits, stored store.Limits) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, limits, stored), newSource()
			slow := s.Join(&Request{Query: get(url), Fill: o.fill})
			defer slow.Leave()
			synctest.Wait()
			a := shared(get(url))
			a.Keep = keep
			o.head(a, -1)
			wantPace(t, slow, 0)
			if !ends {
				o.feed(2048)
				wantPace(t, slow, 0)
				slow.flight.limits = new(Limits{MaxHeld: 1}.withDefaults(1 << 30))
				wantPace(t, slow, s.Stats().Held/store.DrainSeconds)
				return
			}
			o.send(strings.Repeat("x", 1<<20))
			s.Store.SetLimits(store.Limits{MaxInFlight: 1})
			wantPace(t, slow, 0)
			o.end(nil)
			synctest.Wait()
			if o := s.Find(get(url)).Object; o != nil {
				wantPace(t, slow, s.Stats().InFlight/store.DrainSeconds)
				s.Drop(get(url).Key, o)
			}
			if got, maxPace := slow.Pace(), s.Stats().InFlight/store.DrainSeconds; got < maxPace-1 || got > maxPace || got == 0 {
				t.Errorf("kept %v: the pace is %d bytes a second, want %d", keep, got, maxPace)
			}
		})
	}
	f(true, true, Limits{}, store.Limits{})
	f(false, true, Limits{}, store.Limits{})
	f(true, false, small, smallBodies)
}
