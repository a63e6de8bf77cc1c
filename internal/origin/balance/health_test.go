package balance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// journal records the state changes of a group's members, and the second of each change.
type journal struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newJournal() *journal { return &journal{start: time.Now()} }

func (j *journal) record(member, from, to, _ string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s %s>%s at %.0f", member, from, to, time.Since(j.start).Seconds()))
}

func (j *journal) want(t *testing.T, lines ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.lines, lines) {
		t.Errorf("got state changes\n%s\nwant\n%s", strings.Join(j.lines, "\n"), strings.Join(lines, "\n"))
	}
}

// states returns the first letters of the members' states.
func states(g *Group) (s string) {
	for _, m := range g.Members() {
		s += m.State[:1]
	}
	return s
}

// TestChecks makes checks fail until a member is down, and then lets it recover.
func TestChecks(t *testing.T) {
	f := func(name, mode string, c Check) {
		bubble(t, name, func(t *testing.T) {
			w, j := newNetwork(t, 2), newJournal()
			c.Path, c.Interval, c.Timeout = "/up", 10*time.Second, time.Second
			g := w.group(t, Config{Check: c, OnStateChange: j.record})
			// The first check is at once, and the others are 9 to 11 seconds apart. In a
			// window of 5, the third failure makes the member down, and the third success
			// makes it up again.
			synctest.Wait()
			if w.node("b").set(mode); mode == "refuse" {
				w.node("b").kill()
			}
			time.Sleep(15 * time.Second)
			if states(g) != "uu" || w.node("b").all()[0] != "GET /up" {
				t.Errorf("states %s after one failed check; requests %q", states(g), w.node("b").all())
			}
			time.Sleep(25 * time.Second)
			if states(g) != "ud" || askSeveral(t, g, 4, nil) != "aaaa" {
				t.Errorf("states %s after three failed checks", states(g))
			}
			if why := g.Members()[1].Why; !strings.HasPrefix(why, "check: ") {
				t.Errorf("got reason %q, want one that begins with \"check: \"", why)
			}
			w.node("b").set("ok")
			time.Sleep(9 * time.Second)
			if states(g) != "ud" {
				t.Error("up after at most one good check")
			}
			time.Sleep(30 * time.Second)
			if states(g) != "uu" {
				t.Errorf("states %s after three good checks", states(g))
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			if len(j.lines) != 2 || !strings.HasPrefix(j.lines[0], "b up>down") || !strings.HasPrefix(j.lines[1], "b down>up") {
				t.Errorf("got state changes %q, want down and up", j.lines)
			}
		})
	}
	f("refused", "refuse", Check{})
	f("reset", "reset", Check{})
	f("garbage", "garbage", Check{})
	f("stalls", "stall", Check{})
	f("too slow", "slow 1500ms", Check{})
	f("500", "500", Check{})
	f("another status", "500", Check{Status: 200})
	f("body cut", "cut", Check{})
}

// TestCheckBody checks for a text in the answer, and for a status that is no success.
func TestCheckBody(t *testing.T) {
	f := func(name, mode string, c Check, want string) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 1)
			c.Path, c.Window, c.Threshold = "/up", 1, 1
			w.node("a").set(mode)
			g := w.group(t, Config{Check: c})
			synctest.Wait()
			if got := states(g); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	f("has the text", "ok", Check{Body: "a"}, "u")
	f("has another", "ok", Check{Body: "b"}, "d")
	f("503 is good", "503", Check{Status: 503}, "u")
	f("200 is bad", "ok", Check{Status: 503}, "d")
}

// second is a judge that requests a second target. The answer to it decides.
type second struct{ status int }

func (j second) Judge(target string, status int, body []byte) (string, error) {
	if target == "/up" {
		return "/second", nil
	}
	if status != j.status || string(body) != "a" {
		return "", fmt.Errorf("%d %q", status, body)
	}
	return "", nil
}

// TestCheckJudge checks members with a judge that requests a second target, also after a
// change of the configuration.
func TestCheckJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 1)
		c := Config{Name: "test", Members: w.members(), Check: Check{Path: "/up", Window: 1, Threshold: 1, Judge: second{200}}}
		g := w.group(t, c)
		synctest.Wait()
		if got := strings.Join(w.node("a").all(), ", "); states(g) != "u" || got != "GET /up, GET /second" {
			t.Errorf("states %s after %s", states(g), got)
		}
		c.Transport.Dialer = w
		reconfigure := func(want string) {
			t.Helper()
			if err := g.Reconfigure(c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := states(g) + fmt.Sprint(len(w.node("a").all())); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		reconfigure("u2")
		c.Check.Judge = second{503}
		reconfigure("d4")
		c.Check.Judge = unequal{}
		if err := g.Reconfigure(c); err == nil {
			t.Error("a judge that can't be compared was accepted")
		}
	})
}

type unequal []int

func (unequal) Judge(string, int, []byte) (string, error) { return "", nil }

// TestPanicMode checks that unhealthy members receive requests when no member is healthy, and
// that drained members don't.
func TestPanicMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 3)
		g := w.group(t, Config{Check: Check{Path: "/up", Window: 1, Threshold: 1}})
		g.Drain("c")
		for _, x := range w.nodes {
			x.set("503")
		}
		time.Sleep(6 * time.Second)
		if got := askSeveral(t, g, 4, nil); states(g) != "ddd" && got != "abab" {
			t.Errorf("states %s, got %s", states(g), got)
		}
		if n := g.metrics.panics.Value(); n != 4 {
			t.Errorf("got %d panics", n)
		}
		w.node("b").set("ok")
		time.Sleep(6 * time.Second)
		if got := askSeveral(t, g, 4, nil); states(g) != "dud" && got != "bbbb" {
			t.Errorf("states %s, got %s", states(g), got)
		}
	})
}

// TestSlowStart checks that a recovered member has a tenth of its weight at first, then more
// and more.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		g := w.group(t, Config{SlowStart: time.Minute})
		share := func() int { return strings.Count(askSeveral(t, g, 110, nil), "b") }
		if got := share(); got != 55 {
			t.Errorf("got %d of 110 requests at the start", got)
		}
		g.Drain("b")
		time.Sleep(time.Hour)
		g.Undrain("b")
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 10}, {30 * time.Second, 37}, {30 * time.Second, 55}} {
			time.Sleep(step.after)
			if got := share(); got < step.want-1 || got > step.want+1 {
				t.Errorf("got %d of 110 requests after %s more, want %d", got, step.after, step.want)
			}
		}
	})
}

// TestCheckEnds checks that no check remains running after a group is closed during one.
func TestCheckEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		w.node("a").set("stall")
		w.node("b").set("unreachable")
		g := w.group(t, Config{Check: Check{Path: "/up"}})
		synctest.Wait()
		g.Close()
		g.Close()
		if err := g.Reconfigure(Config{Name: "test", Members: w.members()}); err == nil {
			t.Error("a closed group accepted a configuration")
		}
	})
}

// TestChecksThatFailAtOnce makes a group of so many members that the first are down before
// all are made.
func TestChecksThatFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusing := newNetwork(t, 1)
		refusing.node("a").set("refuse")
		cfg := Config{Check: Check{Path: "/up", Interval: time.Second, Timeout: time.Second, Window: 1, Threshold: 1}}
		const members = 500
		for i := range members {
			cfg.Members = append(cfg.Members, Member{Name: strconv.Itoa(i), URL: "http://a"})
		}
		g := refusing.group(t, cfg)
		synctest.Wait()
		if got := states(g); got != strings.Repeat("d", members) {
			t.Errorf("got %s", got)
		}
	})
}
