package flight

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
)

const url = "http://h/a"

// One request to the origin serves any number of requests for one cold URL. All get the head
// when it is known and the bytes as they arrive.
func TestOneFlightForAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		var all []*client
		for range 1000 {
			all = append(all, o.client(t, s, get(url)))
		}
		each := func(got string, done bool) {
			t.Helper()
			for _, c := range all {
				c.want(t, Streaming, got, done)
			}
		}
		o.head(shared(get(url)), 10)
		each("", false)
		o.send("hello")
		each("hello", false)
		late := o.client(t, s, get(url))
		late.want(t, Streaming, "hello", false)
		o.send("world")
		o.end(nil)
		each("helloworld", true)
		if st := s.Stats(); o.asks() != 1 || st.Flights != 1 || st.Joined != 1000 || st.Running != 0 || st.Held != 0 {
			t.Errorf("the origin was asked %d times: %+v", o.asks(), st)
		}
		wantFound(t, s, get(url), "helloworld")
		if !o.isClosed() {
			t.Error("the body was not closed")
		}
	})
}

// A waiter takes little memory: there is one copy of the body.
func TestManyWaitersTakeLittleMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		var all []*Waiter
		for range 1000 {
			all = append(all, s.Join(&Request{Query: get(url), Fill: o.fill}))
		}
		synctest.Wait()
		body := strings.Repeat("x", 8<<20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o.head(shared(get(url)), int64(len(body)))
		o.send(body)
		o.end(nil)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
			t.Errorf("a body of 8 MiB for 1,000 waiters took %d bytes", n)
		}
		for _, waiter := range all {
			waiter.Leave()
		}
	})
}

// A member that does not read does not delay the others.
func TestSlowReaderDoesNotDelayOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		slow := s.Join(&Request{Query: get(url), Fill: o.fill})
		quick := o.client(t, s, get(url))
		body := strings.Repeat("x", 2<<20)
		o.head(shared(get(url)), -1)
		o.send(body)
		quick.want(t, Streaming, body, false)
		o.end(nil)
		quick.want(t, Streaming, body, true)
		if got := rest(t, slow); got != body {
			t.Errorf("the slow reader got %d bytes, want %d", len(got), len(body))
		}
		slow.Leave()
	})
}

// A range is served from the running flight as soon as its bytes are there.
func TestRangeOfRunningFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		first := o.client(t, s, get(url))
		o.head(shared(get(url)), -1)
		o.send("0123")
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		next := func(want string) {
			t.Helper()
			var got []byte
			var err error
			done := false
			go func() { got, err = waiter.Next(t.Context()); done = true }()
			synctest.Wait()
			if want == "" && done || want != "" && (string(got) != want || err != nil) {
				t.Fatalf("got %q, %v, done %v; want %q", got, err, done, want)
			}
			if want == "" { // it waits for the next bytes
				o.send("4567")
				if string(got) != "67" {
					t.Fatalf("got %q, %v; want 67", got, err)
				}
			}
		}
		from := func(n int64) {
			t.Helper()
			if err := waiter.StartAt(n); err != nil {
				t.Fatal(err)
			}
		}
		from(2)
		next("23")
		from(6)
		next("")
		from(1)
		next("1234567")
		o.end(nil)
		from(7)
		next("7")
		if _, err := waiter.Next(t.Context()); err != io.EOF {
			t.Errorf("past the end: %v", err)
		}
		waiter.Leave()
		first.want(t, Streaming, "01234567", true)
	})
}

// An answer that can't be shared releases the waiters at once. Later requests find a mark
// and don't wait.
func TestUnshareableReleasesWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		starter := o.client(t, s, get(url))
		var others []*client
		for range 10 {
			others = append(others, o.client(t, s, get(url)))
		}
		o.head(&Answer{Head: head(get(url)), Mark: time.Minute}, 4)
		for _, c := range others {
			c.want(t, Unshared, "", true)
		}
		starter.want(t, Private, "", false)
		o.send("mine")
		o.end(nil)
		starter.want(t, Private, "mine", true)
		if st := s.Stats(); st.Released != 10 || st.Marked != 1 || st.Running != 0 {
			t.Errorf("got %+v, want 10 released waiters, 1 mark and no running flight", st)
		}
		if f := s.Find(get(url)); f.Object != nil || !f.Uncacheable {
			t.Errorf("found %+v, want a mark and no object", f)
		}
		if !o.isClosed() || o.ctx.Err() == nil {
			t.Error("the body was not closed, or its context is open")
		}
	})
}

// The starter may have left when the answer is for it alone.
func TestUnshareableWithoutStarter(t *testing.T) {
	f := func(before, withBody bool) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, Limits{}), newSource()
			starter := s.Join(&Request{Query: get(url), Fill: o.fill})
			other := o.client(t, s, get(url))
			if before {
				starter.Leave()
			}
			a := &Answer{Head: head(get(url))}
			if withBody {
				o.head(a, 4)
			} else {
				o.heads <- func(*Flight) (*Answer, error) { return a, nil }
				synctest.Wait()
			}
			other.want(t, Unshared, "", true)
			starter.Leave()
			if withBody && !o.isClosed() || o.ctx.Err() == nil {
				t.Error("the body was not closed, or its context is open")
			}
		})
	}
	f(true, true)
	f(false, true)
	f(true, false)
	f(false, false)
}

// Waiters that the answer's Vary excludes join again, one flight for each variant.
func TestFlightPerVariant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		in := func(language string) *store.Query { return get(url, "Accept-Language", language) }
		de, de2 := o.client(t, s, in("de")), o.client(t, s, in("de"))
		fr := o.client(t, s, in("fr"))
		o.head(shared(in("de"), "Vary", "Accept-Language"), 5)
		de2.want(t, Streaming, "", false)
		fr.want(t, OtherVariant, "", true)

		p := newSource()
		fr, fr2 := p.client(t, s, in("fr")), p.client(t, s, in("fr"))
		it := newSource()
		it1 := it.client(t, s, in("it")) // the running flights' Vary excludes it
		if p.asks() != 1 || it.asks() != 1 {
			t.Fatalf("the origin was asked %d times in French and %d times in Italian", p.asks(), it.asks())
		}
		p.head(shared(in("fr"), "Vary", "Accept-Language"), 5)
		p.send("Salut")
		p.end(nil)
		fr.want(t, Streaming, "Salut", true)
		fr2.want(t, Streaming, "Salut", true)
		o.send("Hallo")
		o.end(nil)
		de.want(t, Streaming, "Hallo", true)
		de2.want(t, Streaming, "Hallo", true)
		it.fail(io.ErrUnexpectedEOF)
		if it1.err != io.ErrUnexpectedEOF {
			t.Errorf("the Italian flight has the error %v", it1.err)
		}
		wantFound(t, s, in("de"), "Hallo")
		wantFound(t, s, in("fr"), "Salut")

		// The Vary of stored responses keeps requests apart as well.
		q := newSource()
		q.client(t, s, in("es"))
		other := newSource()
		other.client(t, s, in("pt"))
		if q.asks() != 1 || other.asks() != 1 {
			t.Errorf("the Portuguese request joined the Spanish flight")
		}
		q.fail(io.ErrUnexpectedEOF)
		other.fail(io.ErrUnexpectedEOF)
	})
}

func TestFailureBeforeHead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		a, b := o.client(t, s, get(url)), o.client(t, s, get(url))
		broken := errors.New("broken")
		o.fail(broken)
		if a.err != broken || b.err != broken {
			t.Errorf("the errors are %v and %v", a.err, b.err)
		}
		if f := s.Find(get(url)); f.Object != nil || s.Stats().Failed != 1 {
			t.Errorf("found %+v, want nothing", f)
		}
		if got := fetch(t, s, get(url), fillWith(answer(get(url), "well"))); got != "well" {
			t.Errorf("the next request got %q, want well", got)
		}
	})
}

// A body that is broken off, too short or too long is an error for all members and is not
// stored.
func TestFailureInsideBody(t *testing.T) {
	cut := errors.New("cut")
	f := func(length int64, body string, end error, got string, want error) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, Limits{}), newSource()
			c := o.client(t, s, get(url))
			o.head(shared(get(url)), length)
			late := s.Join(&Request{Query: get(url), Fill: o.fill})
			for i := range len(body) {
				o.send(body[i : i+1])
			}
			if end != nil || want != errSurplus {
				o.end(end)
			}
			if c.got != got || !errors.Is(c.err, want) || !c.done.Load() {
				t.Errorf("got %q, %v; want %q, %v", c.got, c.err, got, want)
			}
			if b, err := readAll(t.Context(), late); b != got || !errors.Is(err, want) {
				t.Errorf("a later reader got %q, %v; want %q, %v", b, err, got, want)
			}
			late.Leave()
			if s.Find(get(url)).Object != nil || !o.isClosed() {
				t.Error("the body is stored, or its connection was not closed")
			}
			again := newSource()
			again.client(t, s, get(url))
			if again.asks() != 1 {
				t.Error("a later request joins the failed flight")
			}
			again.fail(cut)
		})
	}
	f(10, "12345", cut, "12345", cut)
	f(-1, "12345", cut, "12345", cut)
	f(10, "", cut, "", cut)
	f(10, "12345", nil, "12345", io.ErrUnexpectedEOF)
	f(4, "12345", nil, "1234", errSurplus)
	f(0, "1", nil, "", errSurplus)
}

// A body whose reads return no bytes and no error is an error after maxEmptyReads reads.
func TestBodyWithoutProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		a := shared(get(url))
		a.Body, a.Length = io.NopCloser(idle{}), -1
		waiter := s.Join(&Request{Query: get(url), Fill: fillWith(a)})
		if _, err := readAll(t.Context(), waiter); err != errNoProgress {
			t.Errorf("got the error %v, want %v", err, errNoProgress)
		}
		waiter.Leave()
	})
}

// idle is a body whose reads return no bytes and no error.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// A flight outlives its starter, for its other members and, within limits, for the store.
func TestLeaving(t *testing.T) {
	f := func(name string, limits Limits, length int64, sent int, keep, stored bool) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, limits), newSource()
			starter := s.Join(&Request{Query: get(url), Fill: o.fill})
			other := s.Join(&Request{Query: get(url), Fill: o.fill})
			synctest.Wait()
			starter.Leave()
			a := shared(get(url))
			a.Keep = keep
			o.head(a, length)
			o.send(strings.Repeat("x", sent))
			if o.ctx.Err() != nil {
				t.Fatalf("%s: the flight ended although it has a member", name)
			}
			other.Leave()
			other.Leave() // counts once
			synctest.Wait()
			if ended := o.ctx.Err() != nil; ended == stored {
				t.Fatalf("%s: without members the flight ended: %v, want %v", name, ended, !stored)
			}
			if !stored {
				if st := s.Stats(); st.Abandoned == 0 || st.Failed != 0 {
					t.Errorf("%s: got %+v, want an abandoned flight and no failed one", name, st)
				}
				return
			}
			o.send(strings.Repeat("x", max(10-sent, 1)))
			o.end(nil)
			if s.Find(get(url)).Object == nil {
				t.Errorf("%s: not stored", name)
			}
		})
	}
	f("few bytes are missing", Limits{}, 10, 5, true, true)
	f("as many as the limit", Limits{Finish: 5}, 10, 5, true, true)
	f("more than the limit", Limits{Finish: 4}, 10, 5, true, false)
	f("the length is not known", Limits{}, -1, 5, true, true)
	f("the answer would not be kept", Limits{}, 10, 5, false, false)
}

// Without members a body of unknown length is fetched up to Limits.Finish more bytes.
func TestLeavingUnknownLength(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{Finish: 64 << 10}), newSource()
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		o.head(shared(get(url)), -1)
		o.send(strings.Repeat("x", 100<<10))
		waiter.Leave()
		o.send(strings.Repeat("x", 60<<10))
		if o.ctx.Err() != nil {
			t.Error("the flight ended before the limit")
		}
		o.bytes <- []byte(strings.Repeat("x", 1<<20))
		synctest.Wait()
		if o.ctx.Err() == nil {
			t.Error("the flight continues past the limit without members")
		}
	})
}

// A flight whose members left before its head continues, and can be joined again.
func TestLeavingBeforeHead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		s.Join(&Request{Query: get(url), Fill: o.fill}).Leave()
		synctest.Wait()
		c := o.client(t, s, get(url))
		o.head(shared(get(url)), 2)
		o.send("ab")
		o.end(nil)
		c.want(t, Streaming, "ab", true)
		if o.asks() != 1 {
			t.Errorf("the origin was asked %d times", o.asks())
		}
	})
}

// The number of abandoned flights is limited. A request that joins one frees its place, and
// so does its end.
func TestAbandonedAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		abandon := func(i int) *source {
			o := newSource()
			s.Join(&Request{Query: get(url + strconv.Itoa(i)), Fill: o.fill}).Leave()
			synctest.Wait()
			return o
		}
		all := make([]*source, maxAbandoned)
		for i := range all {
			all[i] = abandon(i)
		}
		f := func(i int, continues bool) {
			t.Helper()
			if o := abandon(i); (o.ctx.Err() == nil) != continues {
				t.Errorf("flight %d continues: got %v, want %v", i, !continues, continues)
			}
		}
		f(1001, false)
		all[0].fail(context.Canceled)
		f(1002, true)
		f(1003, false)
		back := all[1].client(t, s, get(url+"1"))
		f(1004, true)
		f(1005, false)
		all[1].fail(context.DeadlineExceeded)
		if back.err != context.DeadlineExceeded || all[2].ctx.Err() != nil {
			t.Errorf("the request that joined again got %v; another flight ended: %v", back.err, all[2].ctx.Err())
		}
		if st := s.Stats(); st.Abandoned != 3 {
			t.Errorf("%d flights were abandoned, want 3", st.Abandoned)
		}
	})
}

// Requests that validate an object share one flight too. It ends with the stored body under
// a new head.
func TestValidation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		old := fill(t, s, get(url), "body", "ETag", `"1"`, "X", "1")
		s.Purge(context.Background(), store.Purge{Selector: purge.By(purge.URL, url), Soft: true})
		if s.Find(get(url)).Object.Mark() != policy.Outdated {
			t.Fatal("not outdated")
		}
		join := func() *Waiter { return s.Join(&Request{Query: get(url), Seen: old, Fill: o.fill}) }
		a, b := join(), join()
		o.heads <- func(*Flight) (*Answer, error) {
			return &Answer{Head: head(get(url), "ETag", `"1"`, "X", "2"), Validated: old, Share: true, Keep: true}, nil
		}
		for _, waiter := range []*Waiter{a, b} {
			out, err := waiter.Wait(t.Context())
			if err != nil || out.Kind != Whole || text(out.Object) != "body" || string(out.Head.Fields.Get("X")) != "2" {
				t.Errorf("got the outcome %+v, %v; want the stored body with the new head", out, err)
			}
			waiter.Leave()
		}
		f := wantFound(t, s, get(url), "body")
		if f.Object == old || f.Object.Mark() != policy.Unmarked || o.asks() != 1 {
			t.Errorf("found %+v after %d requests to the origin, want a new unmarked object after 1", f.Object, o.asks())
		}
		// A request that saw the former object, and joins after the new one is stored, needs
		// no flight.
		if c := join(); !c.Stored() || !c.Joined() {
			t.Error("a request with the former object started a flight")
		}
	})
}

// An object that may no longer be stored is used by the starter alone.
func TestValidatedObjectIsPrivate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		old := fill(t, s, get(url), "body")
		starter := s.Join(&Request{Query: get(url), Seen: old, Fill: o.fill})
		other := s.Join(&Request{Query: get(url), Seen: old, Fill: o.fill})
		o.heads <- func(*Flight) (*Answer, error) { return &Answer{Head: head(get(url)), Validated: old}, nil }
		if out, err := starter.Wait(t.Context()); err != nil || out.Kind != Private || text(out.Object) != "body" {
			t.Errorf("the outcome is %+v, %v", out, err)
		}
		if out, err := other.Wait(t.Context()); err != nil || out.Kind != Unshared {
			t.Errorf("the other member's outcome is %+v, %v; want Unshared", out, err)
		}
		starter.Leave()
		other.Leave()
		synctest.Wait()
		if o.ctx.Err() == nil {
			t.Error("the context of the flight is open")
		}
	})
}

// After a write or a purge no request joins a flight that began before it, and its answer is
// not stored; after a soft purge it is stored as stale.
func TestOvertakenFlight(t *testing.T) {
	f := func(name string, overtake func(s *engine), soft bool) {
		t.Helper()
		for _, headKnown := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				s, o := open(t, Limits{}), newSource()
				before := o.client(t, s, get(url))
				if headKnown {
					o.head(shared(get(url), "Cache-Tag", "t"), 3)
				}
				overtake(s)
				p := newSource()
				after := p.client(t, s, get(url))
				if p.asks() != 1 {
					t.Fatalf("%s: a later request joined (head known: %v)", name, headKnown)
				}
				if !headKnown {
					o.head(shared(get(url), "Cache-Tag", "t"), 3)
				}
				o.send("old")
				o.end(nil)
				before.want(t, Streaming, "old", true)
				switch f := s.Find(get(url)); {
				case !soft && f.Object != nil, soft && f.Object.Mark() != policy.Outdated:
					t.Errorf("%s: found %+v", name, f)
				}
				p.head(shared(get(url), "Cache-Tag", "t"), 3)
				p.send("new")
				p.end(nil)
				after.want(t, Streaming, "new", true)
				if f := wantFound(t, s, get(url), "new"); f.Object.Mark() != policy.Unmarked {
					t.Errorf("%s: found %+v", name, f)
				}
			})
		}
	}
	f("write", func(s *engine) { s.Invalidate(context.Background(), get(url).Key) }, false)
	f("strict write", func(s *engine) { writeKey(t, s, get(url).Key) }, false)
	for _, p := range []store.Purge{
		{Selector: purge.By(purge.URL, url)},
		{Selector: purge.By(purge.Prefix, "/a")},
		{Selector: purge.By(purge.Pattern, "/*")},
		{Selector: purge.By(purge.Tag, "t")},
		{},
	} {
		f(p.String(), func(s *engine) { s.Purge(context.Background(), p) }, false)
		p.Soft = true
		f(p.String(), func(s *engine) { s.Purge(context.Background(), p) }, true)
	}
}

// An answer that is read during a write is not stored. After a write with an unknown outcome
// no answer is stored until the quarantine has ended.
func TestFlightDuringWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		w := beginKey(t, s, get(url).Key)
		get1 := func() string { return fetch(t, s, get(url), fillWith(answer(get(url), "x"))) }
		if get1() != "x" || s.Find(get(url)).Object != nil {
			t.Error("got another answer, or it was stored during the write")
		}
		w.Unknown()
		if get1() != "x" || s.Find(get(url)).Object != nil {
			t.Error("got another answer, or it was stored during the quarantine")
		}
		time.Sleep(31 * time.Second)
		if get1() != "x" || s.Find(get(url)).Object == nil {
			t.Error("got another answer, or it was not stored after the quarantine")
		}
	})
}

// Interim responses reach the starter, in its own goroutine, and no other member.
func TestInterim(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		var got []int
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		waiter.OnInterim = func(i Interim) { got = append(got, i.Status) }
		silent := o.client(t, s, get(url))
		joined := s.Join(&Request{Query: get(url), Fill: o.fill})
		defer joined.Leave()
		joined.OnInterim = func(i Interim) { t.Errorf("another member got %d", i.Status) }
		go waiter.Wait(t.Context())
		go joined.Wait(t.Context())
		o.heads <- func(f *Flight) (*Answer, error) {
			f.Interim(103, http1.FieldsOf("Link", "</x>"))
			time.Sleep(time.Second) // the starter has received it
			f.Interim(102, nil)
			f.Interim(103, nil)
			time.Sleep(time.Second)
			return answer(get(url), "x"), nil
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(got) != 3 || got[0] != 103 || got[1] != 102 {
			t.Errorf("got %v, want 103, 102 and 103", got)
		}
		if silent.err != nil {
			t.Errorf("a member without OnInterim got the error %v", silent.err)
		}
		waiter.Leave()
	})
}

func TestFillPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		for _, fill := range []FillFunc{
			func(context.Context, *Flight) (*Answer, error) { panic("oh") },
			func(context.Context, *Flight) (*Answer, error) { runtime.Goexit(); return nil, nil },
		} {
			waiter := s.Join(&Request{Query: get(url), Fill: fill})
			if _, err := waiter.Wait(t.Context()); !errors.Is(err, ErrPanicked) {
				t.Errorf("the error is %v", err)
			}
			waiter.Leave()
		}
	})
}

// A member that stops waiting does not affect the others.
func TestWaitCanceled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		c := o.client(t, s, get(url))
		waiter := s.Join(&Request{Query: get(url), Fill: o.fill})
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if _, err := waiter.Wait(ctx); err != gone {
			t.Errorf("waiting for the head: %v", err)
		}
		o.head(shared(get(url)), -1)
		if _, err := waiter.Next(ctx); err != gone {
			t.Errorf("waiting for bytes: %v", err)
		}
		waiter.Leave()
		o.end(nil)
		c.want(t, Streaming, "", true)
	})
}

func TestCloseEndsFlights(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		waiting := o.client(t, s, get(url))
		p := newSource()
		reading := p.client(t, s, get("http://h/b"))
		p.head(shared(get("http://h/b")), 10)
		p.send("12345")
		s.Close()
		synctest.Wait()
		if waiting.err != ErrClosed || reading.err != ErrClosed || reading.got != "12345" {
			t.Errorf("the errors are %v and %v with %q", waiting.err, reading.err, reading.got)
		}
		if late := o.client(t, s, get(url)); late.err != ErrClosed {
			t.Errorf("a late request got %v", late.err)
		}
	})
}

// A refresh starts one flight, stores its answer without members, and can be joined.
func TestRefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{Finish: 1}), newSource()
		old := fill(t, s, get(url), "old")
		ask := func() *Request { return &Request{Query: get(url), Seen: old, Fill: o.fill} }
		if !s.Refresh(ask()) || s.Refresh(ask()) {
			t.Error("the first refresh did not start, or a second one did")
		}
		synctest.Wait()
		joined := s.Join(ask())
		o.head(shared(get(url)), 10)
		joined.Leave()
		if s.Refresh(ask()) {
			t.Error("a second refresh started after the first one's head")
		}
		o.send("newnew")
		o.send("new!")
		o.end(nil)
		wantFound(t, s, get(url), "newnewnew!")
		if s.Refresh(ask()) {
			t.Error("a second refresh started after the first one was stored")
		}
		if o.asks() != 1 {
			t.Errorf("the origin was asked %d times", o.asks())
		}
	})
}

// A refresh closes an answer that can't be shared.
func TestRefreshUnshareable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		s.Refresh(&Request{Query: get(url), Fill: o.fill})
		synctest.Wait()
		o.head(&Answer{Head: head(get(url))}, 5)
		if !o.isClosed() || o.ctx.Err() == nil {
			t.Error("the body was not closed, or its context is open")
		}
	})
}

// Marked requests start flights of their own until one of them gets an answer that can be
// shared.
func TestAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		a, b := newSource(), newSource()
		joinAlone := func(o *source) *Waiter {
			waiter := s.Join(&Request{Query: get(url), Alone: true, Fill: o.fill})
			synctest.Wait()
			return waiter
		}
		one, two := joinAlone(a), joinAlone(b)
		if a.asks() != 1 || b.asks() != 1 {
			t.Fatal("a marked request joined another's flight")
		}
		c := newSource()
		third := c.client(t, s, get(url))
		if c.asks() != 1 {
			t.Fatal("a request joined a flight whose answer may be private")
		}
		c.fail(io.ErrUnexpectedEOF)
		if third.err == nil {
			t.Fatal("no error")
		}
		s.MarkUncacheable(get(url).Key, head(get(url)), noon, time.Minute)
		a.head(shared(get(url)), 2)
		joined := c.client(t, s, get(url))
		a.send("ab")
		a.end(nil)
		joined.want(t, Streaming, "ab", true)
		b.head(shared(get(url)), 2)
		b.send("cd")
		b.end(nil)
		if rest(t, one) != "ab" || rest(t, two) != "cd" {
			t.Error("the marked requests did not get their own bodies")
		}
		one.Leave()
		two.Leave()
		f := wantFound(t, s, get(url), "cd")
		s.Drop(get(url).Key, f.Object) // a mark is reported only if no object is found
		if f.Uncacheable || s.Find(get(url)).Uncacheable {
			t.Error("the URL is still marked")
		}
	})
}

// A flight that has ended is not joined: its answer is in the store, or was for its members
// only.
func TestEndedFlightIsNotJoined(t *testing.T) {
	s := open(t, Limits{})
	for i := range 100 {
		a := answer(get(url), "x")
		a.Keep = i%2 == 0
		fetch(t, s, get(url), fillWith(a))
	}
	if st := s.Stats(); st.Flights != 100 || st.Joined != 0 {
		t.Errorf("100 consecutive requests started %d flights and joined %d; want 100 and 0", st.Flights, st.Joined)
	}
}

// No member receives the whole body before it is stored, so that a client that repeats the
// request then gets a hit.
func TestStoredBeforeLastBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		c := o.client(t, s, get(url))
		o.head(shared(get(url)), 10)
		o.send("01234")
		c.want(t, Streaming, "01234", false)
		o.send("56789")
		c.want(t, Streaming, "01234", false)
		if s.Find(get(url)).Object != nil {
			t.Error("the body was stored before its end was read")
		}
		o.end(nil)
		c.want(t, Streaming, "0123456789", true)
		wantFound(t, s, get(url), "0123456789")
	})
}
