package fluent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// numbers counts how often each number of each tag has arrived.
type numbers struct {
	mu   sync.Mutex
	seen map[string][]uint8
}

func newNumbers(tags []string, each int) *numbers {
	n := &numbers{seen: make(map[string][]uint8)}
	for _, tag := range tags {
		n.seen[tag] = make([]uint8, each)
	}
	return n
}

func (n *numbers) event(e forwardtest.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, ok := e.Record["n"].(int64)
	if !ok || int(i) >= len(n.seen[e.Tag]) {
		panic(fmt.Sprintf("an event that was not posted: %v", e))
	}
	n.seen[e.Tag][i]++
}

// count returns how many numbers are missing, and how many repeated.
func (n *numbers) count() (missing, again int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, seen := range n.seen {
		for _, times := range seen {
			switch {
			case times == 0:
				missing++
			case times > 1:
				again++
			}
		}
	}
	return missing, again
}

// faultyBehaviour draws the behaviour of one connection.
func faultyBehaviour(random *rand.Rand) forwardtest.Behaviour {
	after := 1 + random.IntN(200<<10)
	switch random.IntN(9) {
	case 0:
		return forwardtest.Behaviour{Refuse: true}
	case 1:
		return forwardtest.Behaviour{CloseAfter: after, Reset: true}
	case 2:
		return forwardtest.Behaviour{AckNever: true}
	case 3:
		return forwardtest.Behaviour{AckWrong: true}
	case 4:
		return forwardtest.Behaviour{AckClose: true}
	case 5:
		return forwardtest.Behaviour{HalfOpen: true}
	case 6:
		return forwardtest.Behaviour{Stall: true}
	case 7:
		return forwardtest.Behaviour{AckDelay: time.Duration(random.IntN(20)) * time.Millisecond, CloseAfter: after}
	default:
		return forwardtest.Behaviour{CloseAfter: after}
	}
}

// TestNothingIsMissingAfterFaults posts from 16 goroutines to a server that is down at first and
// then fails in every way, with acknowledgements and a disk: every accepted record arrives, some of
// them more than once. KASOKU_FLUENT_RECORDS is the number of records, KASOKU_FLUENT_SEED selects
// the faults.
func TestNothingIsMissingAfterFaults(t *testing.T) {
	const goroutines = 16
	records := setting(t, "KASOKU_FLUENT_RECORDS", 200_000)
	random := rand.New(rand.NewPCG(uint64(setting(t, "KASOKU_FLUENT_SEED", 1)), 0))
	each := records / goroutines
	var tags []string
	for i := range goroutines {
		tags = append(tags, fmt.Sprint("app.", i))
	}
	got := newNumbers(tags, each)
	server := forwardtest.New(t, forwardtest.Options{OnEvent: got.event})
	server.Stop()
	for range 50 + records/20_000 {
		server.Script(faultyBehaviour(random))
	}
	l, err := New([]string{server.Address()},
		WithSpill(t.TempDir(), SpillOptions{}), WithMemory(1<<20), WithBatchBytes(8<<10), WithFlushInterval(time.Millisecond),
		WithAckTimeout(200*time.Millisecond), WithWriteTimeout(200*time.Millisecond), WithRetry(time.Millisecond, 10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var posting sync.WaitGroup
	for i, tag := range tags {
		posting.Add(1)
		go func() {
			defer posting.Done()
			for n := range each {
				if i == 0 && n == each/2 {
					if err := server.Start(); err != nil {
						t.Error(err)
					}
				}
				postAccepted(t, l, tag, n)
			}
		}()
	}
	posting.Wait()
	server.Wait(t, each*goroutines)
	for s := l.Stats(); s.Pending+s.Spooled > 0; s = l.Stats() {
		runtime.Gosched() // some were repeated, others will arrive
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	missing, again := got.count()
	s := expectSum(t, l)
	t.Logf("%d records posted, %d spilled, %d batches, %d returned, %d connections; %d arrived more than once",
		s.Posted, s.SpilledRecords, s.Batches, s.RetriedBatches, s.Servers[0].Connections, again)
	expect(t, "posted", s.Posted, uint64(each*goroutines))
	expect(t, "delivered", s.Delivered, s.Posted)
	expect(t, "missing", missing, 0)
	expect(t, "faults injected", s.RetriedBatches > 0 && s.SpilledRecords > 0 && again > 0, true)
}

// postAccepted posts until the record is accepted: the disk may be slower than
// all these goroutines.
func postAccepted(t *testing.T, l *Logger, tag string, n int) {
	var r Record
	r.Int("n", n)
	for {
		err := l.Post(tag, &r)
		if err == nil {
			return
		}
		if !errors.Is(err, ErrFull) {
			t.Error(err)
			return
		}
		runtime.Gosched()
	}
}

func setting(t *testing.T, name string, n int) int {
	t.Helper()
	if s := os.Getenv(name); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestArrivesInOrder posts from one goroutine for each tag, over one
// connection.
func TestArrivesInOrder(t *testing.T) {
	f := func(opts ...Option) {
		t.Helper()
		const tags, each = 3, 5000
		server := forwardtest.New(t, forwardtest.Options{})
		l, err := New([]string{server.Address()}, append(opts, WithBatchBytes(4<<10), WithFlushInterval(time.Millisecond))...)
		if err != nil {
			t.Fatal(err)
		}
		var posting sync.WaitGroup
		for tag := range tags {
			posting.Add(1)
			go func() {
				defer posting.Done()
				for n := range each {
					postAccepted(t, l, fmt.Sprint(tag), n)
				}
			}()
		}
		posting.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		server.Wait(t, tags*each)
		next := map[string]int64{}
		for _, e := range server.Events() {
			if e.Record["n"] != next[e.Tag] {
				t.Fatalf("tag %s: got %v, want %d", e.Tag, e.Record["n"], next[e.Tag])
			}
			next[e.Tag]++
		}
		expect(t, "errors", len(server.Errors()), 0)
		expect(t, "events", len(server.Events()), tags*each)
	}
	f()
	f(WithAck(false))
	f(WithMode(Message))
	f(WithCompression(Gzip))
	f(WithSpill(t.TempDir(), SpillOptions{}), WithMemory(64<<10))
}

// TestNoGoroutineRemains closes Loggers in several states of their servers.
func TestNoGoroutineRemains(t *testing.T) {
	f := func(b forwardtest.Behaviour, stopped bool) {
		t.Helper()
		server := forwardtest.New(t, forwardtest.Options{})
		server.Behave(b)
		if stopped {
			server.Stop()
		}
		l, err := New([]string{server.Address()}, WithRetry(time.Millisecond, time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			postAccepted(t, l, "a", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		l.Shutdown(ctx) // whether all arrived is another test's matter
		expectSum(t, l)
		server.Close()
		for remains() {
			runtime.Gosched()
		}
	}
	f(forwardtest.Behaviour{}, false)
	f(forwardtest.Behaviour{}, true)
	f(forwardtest.Behaviour{Stall: true}, false)
	f(forwardtest.Behaviour{AckNever: true}, false)
	f(forwardtest.Behaviour{Refuse: true}, false)
}

// remains reports whether any goroutine of a Logger is running.
func remains() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range bytes.Split(stacks, []byte("\n\n")) {
		own := strings.Contains(string(stack), "testing.tRunner")
		if !own && bytes.Contains(stack, []byte("/kasoku/fluent.")) {
			return true
		}
	}
	return false
}
