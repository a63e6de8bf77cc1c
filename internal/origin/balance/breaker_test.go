package balance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// TestSoleMemberIsAlwaysTried makes the only member fail some requests, and then refuse all
// connections. A request is never refused because of other requests.
func TestSoleMemberIsAlwaysTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := newNetwork(t, 1), newJournal()
		g := w.group(t, Config{Breaker: origin.Breaker{MinRequests: 4, Delay: time.Second, Probes: 2}, OnStateChange: j.record})
		for _, mode := range []string{"reset", "garbage"} {
			w.node("a").set(mode)
			if got := askSeveral(t, g, 20, nil); got != strings.Repeat(mode, 20) || states(g) != "u" {
				t.Errorf("got %s, %s", got, states(g))
			}
		}
		w.node("a").kill()
		time.Sleep(time.Minute) // the group forgets the answers
		if got := askSeveral(t, g, 6, nil); got != strings.Repeat("dial", 6) || g.Members()[0].State != "broken" {
			t.Errorf("got %s, %+v", got, g.Members())
		}
		w.node("a").set("500") // even a 500 is an answer
		if got := askSeveral(t, g, 10, nil); got != strings.Repeat("a", 10) || states(g) != "u" {
			t.Errorf("got %s, %+v", got, g.Members())
		}
		j.want(t, "a up>broken at 60", "a broken>up at 60")
	})
}

// TestOpenBreakers makes both members refuse connections. An open breaker stops requests while
// the other member's is closed. When both are open, both members are tried.
func TestOpenBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		g := w.group(t, Config{
			Breaker:  origin.Breaker{MinRequests: 4, Delay: time.Hour, Probes: 1},
			Ejection: Ejection{Disabled: true},
		})
		w.node("a").set("refuse")
		askSeveral(t, g, 10, nil)
		w.node("a").set("ok")
		if got := askSeveral(t, g, 10, nil); got != strings.Repeat("b", 10) {
			t.Errorf("got %s, want no request sent to a", got)
		}
		w.node("b").kill()
		if got := askSeveral(t, g, 2, nil); got != "aa" {
			t.Errorf("got %s, want a request sent to a when b refuses", got)
		}
		w.node("a").kill()
		askSeveral(t, g, 20, nil)
		if got := []string{g.Members()[0].State, g.Members()[1].State}; !slices.Equal(got, []string{"broken", "broken"}) {
			t.Fatal(got)
		}
		w.node("b").set("ok")
		if got := askSeveral(t, g, 4, nil); got != "bbbb" {
			t.Errorf("got %s, want b", got)
		}
	})
}

// TestBadRequestsDontEjectAll makes requests that fail at every member, and checks that one
// member remains.
func TestBadRequestsDontEjectAll(t *testing.T) {
	for _, mode := range []string{"reset", "garbage", "500"} {
		bubble(t, mode, func(t *testing.T) {
			w := newNetwork(t, 3)
			for _, name := range []string{"a", "b", "c"} {
				w.node(name).set(mode)
			}
			g := w.group(t, Config{Ejection: Ejection{MaxShare: 1}})
			askSeveral(t, g, 50, nil)
			if n := strings.Count(states(g), "u"); n != 1 {
				t.Errorf("states %s, want one member up", states(g))
			}
		})
	}
}
