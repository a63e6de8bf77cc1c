package client

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// keyOf returns the n-th key. All have the same length, so that a lost byte does not change
// one into another.
func keyOf(n int) string { return fmt.Sprintf("key:%06d", n) }

// valueOf returns a value that belongs to one key only: its name repeated.
func valueOf(key string, n int) string { return strings.Repeat(key+" ", 1+n*n%97) }

// TestValuesAreNotMixed fetches values that contain their key, from many goroutines, while
// replies are cut, corrupted, repeated, lost and reordered, and the server is restarted. A get
// may fail, but a value must be the right one. KASOKU_MEMCACHED_GETS sets the number of gets.
func TestValuesAreNotMixed(t *testing.T) {
	gets := 60_000
	if n, err := strconv.Atoi(os.Getenv("KASOKU_MEMCACHED_GETS")); err == nil {
		gets = n
	}
	f := func(name string, connections int, srv *fake) {
		t.Run(name, func(t *testing.T) {
			const keys = 500
			for n := 0; n < keys; n += 2 {
				srv.put(keyOf(n), valueOf(keyOf(n), n))
			}
			address := srv.start(t, "")
			c := newClient(t, Config{Protocol: srv.protocol(), Auth: srv.login(), Connections: connections, FirstByteTimeout: 20 * time.Millisecond, Timeout: time.Second,
				ConnectTimeout: time.Second, Breaker: Breaker{Failures: 1000, RetryEvery: time.Millisecond}}, address)
			srv.chaos.oneIn.Store(200)
			var count [len(results)]atomic.Int64
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() { ask(t, c, keys, gets/32, &count) })
			}
			for n := range 5 {
				await.Until(t, func() bool { return count[Hit].Load() > int64(n*gets/20) })
				srv.stop()
				srv.start(t, address)
			}
			wg.Wait()
			for r := range count {
				t.Logf("%s: %d", Result(r), count[r].Load())
			}
			for how := range srv.corruptions() {
				if srv.chaos.counts[how].Load() == 0 {
					t.Errorf("corruption %d did not occur", how)
				}
			}
			srv.chaos.oneIn.Store(0)
			awaitRecovery(t, c)
		})
	}
	for _, connections := range []int{1, 3} {
		f(fmt.Sprintf("text, %d connections", connections), connections, &fake{chaos: &chaos{pieces: true, mixed: true}})
		f(fmt.Sprintf("meta, %d connections", connections), connections, &fake{meta: true, chaos: &chaos{pieces: true}})
		f(fmt.Sprintf("binary, %d connections", connections), connections, &fake{binary: true, auth: "ann secret", chaos: &chaos{pieces: true}})
	}
}

// ask gets random keys until that many were answered.
func ask(t *testing.T, c *Client, keys, gets int, count *[len(results)]atomic.Int64) {
	x := NewCall()
	defer x.Release()
	for answered := 0; answered < gets && !t.Failed(); {
		n := rand.IntN(keys)
		key := keyOf(n)
		r := c.Get(x, 0, []byte(key), GetOptions{})
		count[r].Add(1)
		if want := valueOf(key, n); r == Hit && string(x.Value()) != want {
			t.Errorf("%s: got %.60q", key, x.Value())
		}
		if r == Hit && n%2 == 1 {
			t.Errorf("%s: got %.60q, want a miss", key, x.Value())
		}
		switch r {
		case Hit, Miss:
			answered++
		case Down: // more gets would delay the probe
			await.Until(t, func() bool { return c.Up(0) })
		}
	}
}

// awaitRecovery waits until the client returns a value after the faults have ended.
func awaitRecovery(t *testing.T, c *Client) {
	x := NewCall()
	defer x.Release()
	await.Until(t, func() bool { return c.Get(x, 0, []byte(keyOf(0)), GetOptions{}) == Hit })
}
