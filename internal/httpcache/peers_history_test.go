package httpcache

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/purge"
)

// versioned is an origin whose page has a version, which POST increments. Answers may be kept.
type versioned struct {
	version atomic.Int64
	// acknowledged is the newest version whose write or purge was answered.
	acknowledged atomic.Int64
}

func (v *versioned) serve(x *asked) {
	if strings.HasPrefix(x.head, "POST ") {
		body := fmt.Sprint(v.version.Add(1))
		x.respond(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(body), body))
		return
	}
	x.ok(fmt.Sprint(v.version.Load()), "Surrogate-Key: x")
}

// acknowledge records that a version was answered.
func (v *versioned) acknowledge(version int64) {
	for {
		old := v.acknowledged.Load()
		if old >= version || v.acknowledged.CompareAndSwap(old, version) {
			return
		}
	}
}

// No read through any node is older than the newest write or purge that was answered before it,
// while nodes fill each other.
func TestHistoryWithPeers(t *testing.T) {
	v := &versioned{}
	a, b, cl := newOwned(t, v.serve)
	a.unasked.none = true
	sites := [...]*site{a, b}
	const clients, operations = 6, 150
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(c)))
			conns := [...]*client{a.dial(), b.dial()}
			for range operations {
				i := rng.IntN(2)
				switch n := rng.IntN(20); {
				case n == 0:
					g := conns[i].ask("POST /a", "Content-Length: 0")
					if version, err := strconv.ParseInt(g.body, 10, 64); err == nil {
						v.acknowledge(version)
					}
				case n == 1: // a write past Kasoku, and a purge for it
					version := v.version.Add(1)
					purgesBy(purge.Tag, "x", rng.IntN(2) == 0)(sites[i])
					v.acknowledge(version)
				default:
					oldest := v.acknowledged.Load()
					g := conns[i].ask("GET /a")
					if version, err := strconv.ParseInt(g.body, 10, 64); err != nil || version < oldest {
						t.Errorf("version %d was answered before, and a read got %s", oldest, g)
						return
					}
				}
			}
		})
	}
	all.Wait()
	counts := map[string]int{}
	for _, how := range cl.Fetches() {
		counts[how]++
	}
	t.Logf("questions to the owner: %v", counts)
	if counts["fill"]+counts["hit"] == 0 {
		t.Error("the owner has not answered")
	}
}
