package balance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestEjection ejects a member several times: each ejection is longer than the one before,
// unless a long time has passed. No more than half of the members are ejected.
func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := newNetwork(t, 4), newJournal()
		g := w.group(t, Config{OnStateChange: j.record, Ejection: Ejection{Time: 10 * time.Second, MaxTime: 25 * time.Second}})
		fail := func(name string) {
			t.Helper()
			w.node(name).set("503")
			askSeveral(t, g, 6, &Choice{Prefer: []int{int(name[0] - 'a')}})
			w.node(name).set("ok")
		}
		fail("b")
		if states(g) != "ueuu" || strings.Contains(askSeveral(t, g, 6, nil), "b") {
			t.Errorf("states %s after five failures", states(g))
		}
		if s := g.Members()[1]; s.Why != "status 503" || time.Until(s.Until) != 10*time.Second {
			t.Errorf("got %+v", s)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		fail("b")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		fail("b") // for 25 seconds, not 30
		time.Sleep(25*time.Second + 30*time.Second)
		synctest.Wait()
		fail("b") // all earlier ejections but one are forgotten
		time.Sleep(time.Second)
		fail("c")
		time.Sleep(time.Second)
		fail("d") // half of the members are ejected already
		if states(g) != "ueeu" || g.Members()[3].Why != "" {
			t.Errorf("states %s, want two ejected", states(g))
		}
		j.want(t, "b up>ejected at 0", "b ejected>up at 10", "b up>ejected at 10", "b ejected>up at 30", "b up>ejected at 30", "b ejected>up at 55",
			"b up>ejected at 85", "c up>ejected at 86")
		if until := g.Members()[1].Until; until.Sub(j.start) != 95*time.Second {
			t.Errorf("ejected until %s, want 95s", until.Sub(j.start))
		}
	})
}

// TestEjectionByRate ejects a member that fails every other request, and none that fails
// fewer.
func TestEjectionByRate(t *testing.T) {
	f := func(name string, pattern string, pause time.Duration, want string) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 2)
			g := w.group(t, Config{})
			for i := range 40 {
				w.node("a").set(map[byte]string{'x': "500", '.': "ok"}[pattern[i%len(pattern)]])
				ask(t, g, get(), &Choice{Prefer: []int{0}})
				time.Sleep(pause)
			}
			if got := states(g); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	f("half", "x.", time.Millisecond, "eu")
	f("a third", "x..", time.Millisecond, "uu")
	f("half, but few requests", "x.", 600*time.Millisecond, "uu")
	f("five in a row", "xxxxx.......................", time.Millisecond, "eu")
	f("four in a row", "xxxx........................", time.Millisecond, "uu")
}

// TestFailuresThatEject checks that faults and the configured statuses count as failures, and
// that the client's own errors don't.
func TestFailuresThatEject(t *testing.T) {
	f := func(name, mode string, e Ejection, want string) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 2)
			w.node("a").set(mode)
			g := w.group(t, Config{Ejection: e})
			askSeveral(t, g, 5, &Choice{Prefer: []int{0}, Attempts: 1})
			if got := states(g); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	f("refused", "refuse", Ejection{}, "eu")
	f("reset", "reset", Ejection{}, "eu")
	f("garbage", "garbage", Ejection{}, "eu")
	f("timeout", "stall", Ejection{}, "eu")
	f("body cut", "cut", Ejection{}, "eu")
	f("500", "500", Ejection{}, "eu")
	f("500, not named", "500", Ejection{Statuses: []int{503}}, "uu")
	f("disabled", "500", Ejection{Disabled: true}, "uu")
}

// Whether a failing member was reachable.
const isUnreachable, isReachable = true, false

// TestEjectionEndedByChecks ejects member a for failures of some kind. After that, each check,
// one per second, succeeds. Two successes end the ejection of a member that was unreachable.
func TestEjectionEndedByChecks(t *testing.T) {
	f := func(name string, modes []string, back string) {
		bubble(t, name, func(t *testing.T) {
			w, j := newNetwork(t, 2), newJournal()
			cfg := Config{OnStateChange: j.record, Check: Check{Path: "/up", Interval: time.Second, Window: 3, Threshold: 2}}
			cfg.Breaker.Disabled = true
			g := w.group(t, cfg)
			synctest.Wait() // the first check
			for i := range 40 {
				if w.node("a").set(modes[i%len(modes)]); modes[i%len(modes)] == "refuse" {
					w.node("a").kill()
				}
				ask(t, g, get(), &Choice{Prefer: []int{0}})
			}
			w.node("a").set("ok")
			if states(g) != "eu" {
				t.Fatal(states(g))
			}
			time.Sleep(11 * time.Second)
			j.want(t, "a up>ejected at 0", "a ejected>up at "+back)
			if got := askSeveral(t, g, 2, nil); states(g) != "uu" || strings.Count(got, "a") != 1 {
				t.Errorf("states %s, got %s", states(g), got)
			}
		})
	}
	f("refused", []string{"refuse"}, "2")
	f("reset", []string{"reset"}, "2")
	f("reset within a body", []string{"cut"}, "2")
	f("reset every other time", []string{"reset", "ok"}, "2")
	f("500", []string{"500"}, "10")
	f("garbage", []string{"garbage"}, "10")
	f("500 every other time", []string{"500", "ok"}, "10")
	f("one 500 among resets", []string{"reset", "reset", "500"}, "10")
	f("one 500 some time before", []string{"500", "ok", "reset", "reset", "reset", "reset", "reset"}, "2")
	f("one 500 among resets, every other time", []string{"reset", "ok", "500", "ok"}, "10")
}

// TestEjectionEndedByTime checks that the ejection of a member that remains unreachable ends
// after its time.
func TestEjectionEndedByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := newNetwork(t, 2), newJournal()
		g := w.group(t, Config{OnStateChange: j.record, Check: Check{Path: "/up", Interval: time.Second, Window: 20, Threshold: 1}})
		synctest.Wait()
		w.node("a").kill()
		askSeveral(t, g, 5, &Choice{Prefer: []int{0}})
		time.Sleep(11 * time.Second)
		j.want(t, "a up>ejected at 0", "a ejected>up at 10")
	})
}

// TestRecordCheck passes results of checks to a member. Some of the checks began before the
// ejection.
func TestRecordCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		g := group(t, Config{Members: []Member{{Name: "a", URL: "http://a"}, {Name: "b", URL: "http://b"}}, OnStateChange: j.record})
		m, check := g.table.Load().members[0], Check{Window: 3, Threshold: 2}
		fail := func(n int, unreachable bool) {
			for range n {
				m.recordFailure(time.Now(), "test", unreachable)
			}
		}
		record := func(what string, number int, good bool, want string) {
			t.Helper()
			if m.recordCheck(check, number, good, time.Now()); states(g) != want {
				t.Errorf("%s: states %s, want %s", what, states(g), want)
			}
		}
		early := m.ejections()
		fail(5, isUnreachable)
		record("begun before", early, true, "eu")
		now := m.ejections()
		record("one", now, true, "eu")
		record("failed", now, false, "eu")
		record("one", now, true, "eu")
		fail(10, isReachable) // failures of an ejected member: they have no effect, now or later
		record("two in a row", now, true, "uu")
		if until := g.Members()[0].Until; !until.IsZero() {
			t.Errorf("ejected until %s, want no time", until)
		}
		fail(4, isReachable)
		if states(g) != "uu" {
			t.Error("failures during the ejection were counted")
		}
		m.recordSuccess(time.Now())
		fail(5, isUnreachable) // the second ejection in a short time: twice as many checks
		now = m.ejections()
		for range 3 {
			record("too few", now, true, "eu")
		}
		record("four", now, true, "uu")
		time.Sleep(20 * time.Second) // both ejections are forgotten
		fail(5, isUnreachable)
		now = m.ejections()
		record("one", now, true, "eu")
		record("two", now, true, "uu")
		j.want(t, "a up>ejected at 0", "a ejected>up at 0", "a up>ejected at 0", "a ejected>up at 0", "a up>ejected at 20", "a ejected>up at 20")
	})
}

// TestLateTimer fires the timer of an ejection after checks have ended it and another ejection
// has begun. It changes nothing.
func TestLateTimer(t *testing.T) {
	g := group(t, Config{Members: []Member{{Name: "a", URL: "http://a"}, {Name: "b", URL: "http://b"}}})
	m := g.table.Load().members[0]
	for range 2 {
		for range 5 {
			m.recordFailure(time.Now(), "test", isUnreachable)
		}
		for range 2 {
			m.recordCheck(Check{Window: 3, Threshold: 1}, m.ejections(), true, time.Now())
		}
	}
	for range 5 {
		m.recordFailure(time.Now(), "test", isUnreachable)
	}
	if m.expire(m.ejections() - 1); states(g) != "eu" {
		t.Error("the timer of an earlier ejection ended this one")
	}
	if m.expire(m.ejections()); states(g) != "uu" {
		t.Error("the timer of this ejection did not end it")
	}
}

// The rules of the model of ejections.
const (
	modelRow       = 2
	modelTime      = 5 * time.Second
	modelMaxTime   = 12 * time.Second
	modelThreshold = 2
)

// ejectionState is the state of a member's ejections by the rules.
type ejectionState struct {
	row         []bool // for each failure in a row, whether the member was unreachable
	number      int    // ejections
	count       int
	until, end  time.Time
	unreachable bool
	good        int // good checks in a row
	begun       int // number when the present check began
}

func (s *ejectionState) ejected() bool { return time.Now().Before(s.until) }

// recordFailure records a failure. With room, the member may be ejected.
func (s *ejectionState) recordFailure(unreachable, room bool) {
	s.row = append(s.row, unreachable)
	if s.ejected() || len(s.row) < modelRow || !room {
		return
	}
	if s.number > 0 {
		s.count = max(0, s.count-int(time.Since(s.end)/modelTime))
	}
	s.count++
	s.number++
	s.until = time.Now().Add(min(time.Duration(s.count)*modelTime, modelMaxTime))
	s.end, s.unreachable, s.good, s.row = s.until, !slices.Contains(s.row, isReachable), 0, nil
}

// recordCheck records the result of the present check.
func (s *ejectionState) recordCheck(good bool) {
	if !good {
		s.good = 0
	} else if s.begun == s.number {
		s.good++
	}
	if s.ejected() && s.unreachable && s.good >= modelThreshold*s.count {
		s.until, s.end, s.row = time.Now(), time.Now(), nil
	}
}

// eject adds actions that may eject members and end ejections.
func (m *model) eject(actions map[string]func(*rapid.T), member *rapid.Generator[int]) {
	members := m.g.table.Load().members
	actions["fail"] = func(t *rapid.T) {
		i, unreachable := member.Draw(t, "member"), rapid.Bool().Draw(t, "unreachable")
		for range rapid.IntRange(1, modelRow).Draw(t, "times") {
			m.ejectionStates[i].recordFailure(unreachable, m.room())
			members[i].recordFailure(time.Now(), "test", unreachable)
		}
	}
	actions["succeed"] = func(t *rapid.T) {
		i := member.Draw(t, "member")
		m.ejectionStates[i].row = nil
		members[i].recordSuccess(time.Now())
	}
	actions["begin a check"] = func(t *rapid.T) {
		i := member.Draw(t, "member")
		m.ejectionStates[i].begun = m.ejectionStates[i].number
		if got := members[i].ejections(); got != m.ejectionStates[i].number {
			t.Fatalf("got %d ejections of member %d, want %d", got, i, m.ejectionStates[i].number)
		}
	}
	actions["end a check"] = func(t *rapid.T) {
		i, good := member.Draw(t, "member"), rapid.IntRange(0, 3).Draw(t, "bad") > 0
		for range rapid.IntRange(1, 2*modelThreshold).Draw(t, "times") {
			m.ejectionStates[i].recordCheck(good)
			members[i].recordCheck(Check{Threshold: modelThreshold}, m.ejectionStates[i].begun, good, time.Now())
		}
	}
}

// room reports whether another member may be ejected.
func (m *model) room() bool {
	ejected := 0
	for i := range m.ejectionStates {
		if m.ejectionStates[i].ejected() {
			ejected++
		}
	}
	maxEjected := len(m.ejectionStates) / 2
	return ejected < maxEjected
}

// checkAnnounced compares the last reported state of each member's ejections with the rules.
func (m *model) checkAnnounced(t *rapid.T) {
	synctest.Wait() // ejections that end at this moment are reported
	last := map[string]bool{}
	m.journal.mu.Lock()
	defer m.journal.mu.Unlock()
	for _, line := range m.journal.lines {
		name, what, _ := strings.Cut(line, " ")
		if strings.Contains(what, "ejected") {
			last[name] = strings.HasPrefix(what, "up>ejected")
		}
	}
	for i := range m.ejectionStates {
		if got, want := last[fmt.Sprint(i)], m.ejectionStates[i].ejected(); got != want {
			t.Fatalf("member %d: reported as ejected: got %t, want %t", i, got, want)
		}
	}
}
