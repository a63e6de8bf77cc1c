//go:build go1.25

package fluent

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// bubble runs f with a receiver and a source of batches on synctest's clock.
func bubble(t *testing.T, opt forwardtest.Options, f func(t *testing.T, r *forwardtest.Receiver, s *fakeSource)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := forwardtest.Detached(opt)
		t.Cleanup(r.Close)
		f(t, r, newFakeSource(t))
	})
}

// inOrder checks that the events are 0, 1, 2 ... n-1, each once.
func inOrder(t *testing.T, events []forwardtest.Event, n int) {
	t.Helper()
	if len(events) != n {
		t.Errorf("%d events; want %d", len(events), n)
		return
	}
	for i, e := range events {
		if e.Record["n"] != int64(i) {
			t.Errorf("event %d is %v", i, e.Record)
			return
		}
	}
}

// complete checks that every event from 0 to n-1 arrived, and returns the number of
// repetitions.
func complete(t *testing.T, events []forwardtest.Event, n int) (repeated int) {
	t.Helper()
	seen := make([]int, n)
	for _, e := range events {
		seen[e.Record["n"].(int64)]++
	}
	for i, count := range seen {
		if count == 0 {
			t.Errorf("event %d is missing", i)
		}
		repeated += max(0, count-1)
	}
	return repeated
}

func TestPipelinesWithinWindow(t *testing.T) {
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		r.HoldAcks()
		d, _ := s.deliver([]string{"a"}, WithDial(r.Dial), WithWindow(3))
		s.put(5)
		synctest.Wait()
		if got := len(r.Messages()); got != 3 {
			t.Errorf("%d batches sent without an acknowledgement; want the window, 3", got)
		}
		if st := d.states()[0]; st.InFlight != 3 || st.Batches != 0 {
			t.Errorf("states %+v", st)
		}
		r.ReleaseAcks()
		s.await(5)
		inOrder(t, r.Events(), 10)
		if !slices.IsSorted(s.delivered) || r.Accepted() != 1 {
			t.Errorf("delivered %v over %d connections", s.delivered, r.Accepted())
		}
		st := d.states()[0]
		if st.Batches != 5 || st.Records != 10 || st.Bytes == 0 || st.Connections != 1 || st.Failures != 0 || st.InFlight != 0 {
			t.Errorf("states %+v", st)
		}
	})
}

func TestConnectsOnlyForBatches(t *testing.T) {
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		s.deliver([]string{"a", "b"}, WithDial(r.Dial), WithBalance())
		time.Sleep(time.Hour)
		if r.Accepted() != 0 {
			t.Error("connected with nothing to send")
		}
	})
}

func TestServerDownAtStart(t *testing.T) {
	for _, ack := range []bool{true, false} {
		bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
			r.Stop()
			d, _ := s.deliver([]string{"a"}, WithDial(r.Dial), WithAck(ack))
			s.put(20)
			e := s.awaitEvent(Tripped)
			if e.Server != "a" || e.Err == nil || !d.down() || d.states()[0].State != Open {
				t.Errorf("event %v, down %v, states %+v", e, d.down(), d.states())
			}
			time.Sleep(10 * time.Minute)
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			s.await(20)
			synctest.Wait()
			inOrder(t, r.Events(), 40)
			kinds := s.kinds("a")
			if d.down() || d.states()[0].State != Closed || !slices.Equal(kinds[:3], []EventKind{Fail, Tripped, Ready}) || kinds[len(kinds)-1] != Reset {
				t.Errorf("down %v, events %v", d.down(), kinds)
			}
			// 10 minutes at 15 s on average and a few shorter waits.
			if attempts := d.states()[0].Failures; attempts < 15 || attempts > 150 {
				t.Errorf("%d attempts in 10 minutes", attempts)
			}
		})
	}
}

// The first batch after a failure is sent alone, as a probe of the server.
func TestProbesWithOneBatch(t *testing.T) {
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		r.HoldAcks()
		r.Script(forwardtest.Behaviour{Refuse: true})
		d, _ := s.deliver([]string{"a"}, WithDial(r.Dial))
		s.put(8)
		r.Wait(t, 2)
		synctest.Wait()
		if got := len(r.Messages()); got != 1 || d.states()[0].State != HalfOpen {
			t.Errorf("%d batches sent to a server in state %v", got, d.states()[0].State)
		}
		r.ReleaseAcks()
		s.await(8)
		inOrder(t, r.Events(), 16)
	})
}

func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := forwardtest.Detached(forwardtest.Options{}), forwardtest.Detached(forwardtest.Options{})
		t.Cleanup(a.Close)
		t.Cleanup(b.Close)
		s := newFakeSource(t)
		d, _ := s.deliver([]string{"a", "b"}, WithDial(byHost(a, b)))
		s.put(4)
		s.await(4)
		if b.Accepted() != 0 || a.Total() != 8 {
			t.Errorf("server a received %d events, b %d", a.Total(), b.Total())
		}

		a.Stop()
		s.put(4)
		s.await(8)
		if b.Total() != 8 || d.down() {
			t.Errorf("while server a was down, b received %d events; all down: %v", b.Total(), d.down())
		}

		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		for d.states()[0].State != Closed { // the server is probed with batches
			s.put(1)
			time.Sleep(time.Second)
		}
		before := b.Total()
		s.put(10)
		synctest.Wait()
		if b.Total() != before || b.Open() != 0 {
			t.Errorf("server b received %d events after a had returned, and has %d connections", b.Total()-before, b.Open())
		}
		all := append(a.Events(), b.Events()...)
		if repeated := complete(t, all, 2*len(s.delivered)); repeated != 0 {
			t.Errorf("%d events arrived twice", repeated)
		}
	})
}

func TestAllServersDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := forwardtest.Detached(forwardtest.Options{}), forwardtest.Detached(forwardtest.Options{})
		t.Cleanup(a.Close)
		t.Cleanup(b.Close)
		a.Stop()
		b.Stop()
		s := newFakeSource(t)
		d, _ := s.deliver([]string{"a", "b"}, WithDial(byHost(a, b)))
		s.put(6)
		for !d.down() {
			time.Sleep(time.Second)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		s.await(6)
		inOrder(t, b.Events(), 12)
	})
}

func TestBalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := forwardtest.Detached(forwardtest.Options{}), forwardtest.Detached(forwardtest.Options{})
		t.Cleanup(a.Close)
		t.Cleanup(b.Close)
		s := newFakeSource(t)
		s.deliver([]string{"a", "b"}, WithDial(byHost(a, b)), WithBalance(), WithWindow(1))
		a.HoldAcks() // each waits for its own
		b.HoldAcks()
		s.put(20)
		synctest.Wait()
		if a.Total() != 2 || b.Total() != 2 {
			t.Errorf("server a received %d events, b %d; want one batch each", a.Total(), b.Total())
		}
		b.ReleaseAcks() // a stalls, so that b gets the others
		s.await(19)
		a.ReleaseAcks()
		s.await(20)
		complete(t, append(a.Events(), b.Events()...), 40)
	})
}

// Without acknowledgements a connection's batch counts as done after a moment at
// the latest, so that a busy server may read the next connection's first.
func TestConnectionPerBatch(t *testing.T) {
	f := func(opt forwardtest.Options, ack bool, opts ...Option) {
		t.Helper()
		r := forwardtest.New(t, opt)
		s := newFakeSource(t)
		_, stop := s.deliver([]string{r.Address()}, append(opts, WithSharedKey(key(opt)), WithAck(ack))...)
		s.put(7)
		s.await(7)
		stop()
		r.Wait(t, 14)
		r.WaitOpen(t, 0)
		if repeated := complete(t, r.Events(), 14); repeated != 0 {
			t.Errorf("%d events arrived twice", repeated)
		}
		if ack {
			inOrder(t, r.Events(), 14)
		}
		if r.Accepted() != 7 || len(s.failures()) != 0 {
			t.Errorf("%d connections for 7 batches, failures %v", r.Accepted(), s.failures())
		}
	}
	security := &forwardtest.Security{SharedKey: "k"}
	f(forwardtest.Options{}, true, WithKeepalive(false))
	f(forwardtest.Options{}, false, WithKeepalive(false))
	f(forwardtest.Options{Security: security}, true, WithKeepalive(false))
	f(forwardtest.Options{Security: security, NoKeepalive: true}, true)
	f(forwardtest.Options{Security: security, NoKeepalive: true}, false)
}

func key(opt forwardtest.Options) string {
	if opt.Security == nil {
		return ""
	}
	return opt.Security.SharedKey
}

func TestReplacesOldConnections(t *testing.T) {
	for _, ack := range []bool{true, false} {
		bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
			s.deliver([]string{"a"}, WithDial(r.Dial), WithMaxConnAge(time.Minute), WithAck(ack))
			for i := range 10 {
				s.put(1)
				s.await(i + 1)
				time.Sleep(21 * time.Second)
			}
			inOrder(t, r.Events(), 20)
			// Batches at 0, 21, 42; 63, 84, 105; 126, 147, 168; 189 s.
			if r.Accepted() != 4 || len(s.failures()) != 0 {
				t.Errorf("%d connections, failures %v", r.Accepted(), s.failures())
			}
		})
	}
}

func TestMessageMode(t *testing.T) {
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		s.deliver([]string{"a"}, WithDial(r.Dial), WithMode(Message))
		s.put(3)
		s.await(3)
		inOrder(t, r.Events(), 6)
		chunks := 0
		for _, m := range r.Messages() {
			if m.Chunk != "" {
				chunks++
			}
		}
		if chunks != 3 || len(r.Messages()) != 6 {
			t.Errorf("%d messages with %d chunks", len(r.Messages()), chunks)
		}
	})
}

func TestHeartbeatByConnect(t *testing.T) {
	bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
		r.Stop()
		d, _ := s.deliver([]string{"a"}, WithDial(r.Dial), WithHeartbeat(ConnectHeartbeat, 10*time.Second))
		s.put(1)
		s.awaitEvent(Tripped)
		start := time.Now()
		time.Sleep(65 * time.Second)
		if got := d.states()[0].Failures; got != 7 { // the batch, then every 10 s
			t.Errorf("%d failures", got)
		}
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		s.await(1)
		if took := time.Since(start); took != 70*time.Second || r.Accepted() != 2 {
			t.Errorf("delivered after %v over %d connections", took, r.Accepted())
		}
	})
}

func TestHeartbeatByUDP(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{UDP: true})
	r.Script(forwardtest.Behaviour{Refuse: true})
	s := newFakeSource(t)
	s.deliver([]string{r.Address()}, WithHeartbeat(UDPHeartbeat, time.Millisecond))
	s.put(2)
	s.await(2)
	if kinds := s.kinds(r.Address()); !reflect.DeepEqual(kinds[:2], []EventKind{Fail, Tripped}) || kinds[len(kinds)-1] != Reset || slices.Contains(kinds, Ready) {
		t.Errorf("events %v", kinds)
	}
	inOrder(t, r.Events(), 4)
}

func TestHeartbeatTimeout(t *testing.T) {
	f := func(interval, dial, want time.Duration) {
		t.Helper()
		o := options{heartbeatInterval: interval, dialTimeout: dial}
		if got := o.beatTimeout(); got != want {
			t.Errorf("%v; want %v", got, want)
		}
	}
	f(time.Millisecond, 3*time.Second, 3*time.Second)
	f(time.Minute, 3*time.Second, time.Minute)
	f(time.Second, 0, time.Second)
}

// Senders end with the context, whatever they are waiting for.
func TestSendersEndWithContext(t *testing.T) {
	f := func(b forwardtest.Behaviour, opts ...Option) {
		t.Helper()
		bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
			r.Behave(b)
			_, stop := s.deliver([]string{"a", "b"}, append(opts, WithDial(r.Dial))...)
			s.put(40)
			time.Sleep(500 * time.Millisecond)
			start := time.Now()
			stop()
			if time.Since(start) != 0 {
				t.Errorf("%+v: took %v to stop", b, time.Since(start))
			}
			synctest.Wait()
			if waiting, _, done := s.counts(); waiting+done != 40 {
				t.Errorf("%+v: %d waiting, %d done", b, waiting, done)
			}
		})
	}
	for _, ack := range []bool{true, false} {
		f(forwardtest.Behaviour{}, WithAck(ack))
		f(forwardtest.Behaviour{Refuse: true}, WithAck(ack), WithBreaker(3))
		f(forwardtest.Behaviour{Stall: true}, WithAck(ack))
		f(forwardtest.Behaviour{HalfOpen: true}, WithAck(ack))
		f(forwardtest.Behaviour{HalfOpen: true}, WithAck(ack), WithSharedKey("k"), WithDialTimeout(0))
		f(forwardtest.Behaviour{AckNever: true}, WithAck(ack), WithWindow(2))
		f(forwardtest.Behaviour{Refuse: true}, WithAck(ack), WithHeartbeat(ConnectHeartbeat, time.Second))
		f(forwardtest.Behaviour{HalfOpen: true}, WithAck(ack), WithKeepalive(false), WithBalance())
	}
}

func TestEventStrings(t *testing.T) {
	f := func(e Event, want string) {
		t.Helper()
		if got := e.String(); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	f(Event{Kind: Reset, Server: "a"}, "a: reset")
	f(Event{Kind: Dropped, Records: 3, Err: ErrFull}, "dropped (3 records): fluent: buffer is full")
	f(Event{Kind: EventKind(99)}, "EventKind(99)")
	for k := Fail; k <= Dropped; k++ {
		if k.String() == fmt.Sprintf("EventKind(%d)", k) {
			t.Errorf("kind %d has no name", k)
		}
	}
}
