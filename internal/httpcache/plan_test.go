package httpcache

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// theTag is the tag of all answers of a planner.
var theTag = cache.TagOf([]byte("planner"))

// planOptions make answers without explicit freshness fresh for a very long time.
var planOptions = func() *policy.Options {
	o := policy.Defaults()
	o.DefaultTTL, o.IgnoreRequestDirectives = 1<<40, true
	return &o
}()

// planner serves requests with plans, as other services do. Its fields may be changed while
// no request is in progress.
type planner struct {
	*site
	key            string
	stale, discard bool
	alone          bool
	since          int64
	post           bool
	panics         string // the place: "fill", "ask", "admit", "sound"
	admits         func(int, http1.Fields) Admission
	sound          func(*store.Body) bool
	settled        chan WriteOutcome
	refusal        *Refusal // returned by Finished
	passes         bool
	fills          atomic.Int64
}

// newPlanner serves the script's answers under one key.
func newPlanner(t testing.TB, script func(*asked), change ...func(*Config)) *planner {
	p := &planner{site: newSite(t, script, change...), key: "k"}
	p.server.SetHandler(p)
	return p
}

func (p *planner) Serve(x *edge.Exchange) {
	if p.passes {
		passage := &PassThrough{Why: policy.ProtocolPassed}
		if p.settled != nil {
			passage.Finished = func(s WriteOutcome) *Refusal { p.settled <- s; return p.refusal }
		}
		p.Service.Pass(x, passage)
		return
	}
	plan := &Plan{Key: []byte(p.key), Valid: !p.stale, Since: p.since, Options: planOptions, Filler: p}
	if p.post {
		plan.Body, _ = x.ReadBody(1 << 10)
	}
	p.Service.Read(x, plan)
}

func (p *planner) failAt(where string) {
	if p.panics == where {
		panic("a planned fault")
	}
}

// Fill implements Filler.
func (p *planner) Fill() *Fill {
	p.fills.Add(1)
	p.failAt("fill")
	return &Fill{
		Tags: []cache.Tag{theTag}, StarterOnly: p.alone,
		Ask: func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, bool, *origin.Fault) {
			p.failAt("ask")
			in, f := p.Service.Ask(ctx, q, &balance.Choice{})
			return in, !p.discard, f
		},
		Admit: func(status int, fields http1.Fields) Admission {
			p.failAt("admit")
			if p.admits != nil {
				return p.admits(status, fields)
			}
			return Admission{Fields: fields, Store: true}
		},
		CheckBody: func(b *store.Body) bool {
			p.failAt("sound")
			return p.sound == nil || p.sound(b)
		},
	}
}

// move advances theTag, which invalidates all answers.
func (p *planner) move() { p.space.Cache().Apply(cache.Change{Tags: []cache.Tag{theTag}}) }

// answering returns a script that answers with the present body.
func answering(body *atomic.Value, fields ...string) func(*asked) {
	return func(a *asked) {
		text := body.Load().(string)
		a.respond("HTTP/1.1 200 OK\nContent-Length: " + strconv.Itoa(len(text)) + "\n" + joined(fields) + "\n" + text)
	}
}

// expect sends a request and compares the status, the body and the beginning of
// Cache-Status.
func (p *planner) expect(what, line string, status int, body, how string, fields ...string) *got {
	p.t.Helper()
	g := p.ask(line, fields...)
	if g.status != status || g.body != body || !strings.HasPrefix(g.get("Cache-Status"), "kasoku; "+how) {
		p.t.Errorf("%s: got %s; want %d %q %s", what, g, status, body, how)
	}
	return g
}

func (p *planner) asked(what string, n int) {
	p.t.Helper()
	if got := len(p.origin.requests()); got != n {
		p.t.Errorf("%s: the origin was asked %d times; want %d", what, got, n)
	}
}

func TestPlanKey(t *testing.T) {
	var body atomic.Value
	body.Store("hello")
	p := newPlanner(t, answering(&body))
	p.expect("first", "GET /a?x=1", 200, "hello", "fwd=uri-miss; stored", "Authorization: Basic eA==")
	g := p.expect("another URL with the same key", "GET /b", 200, "hello", "hit; detail=followed")
	if g.get("Age") != "" || g.get("Date") == "" || g.get("ETag") == "" {
		t.Errorf("the hit does not look as if it was validated just now: %s", g)
	}
	p.key = "other"
	p.expect("another key", "GET /a?x=1", 200, "hello", "fwd=uri-miss")
	p.asked("in all", 2)
}

// TestPlanTags checks that an answer is fetched again when its tag has moved, with the
// origin's validator if there is one.
func TestPlanTags(t *testing.T) {
	p := newPlanner(t, func(a *asked) {
		if strings.Contains(a.head, "If-None-Match: \"7\"") {
			a.respond("HTTP/1.1 304 Not Modified\nETag: \"7\"\n\n")
			return
		}
		a.respond("HTTP/1.1 200 OK\nContent-Length: 5\nETag: \"7\"\n\nhello")
	})
	p.expect("first", "GET /", 200, "hello", "fwd=uri-miss; stored")
	p.move()
	p.expect("moved", "GET /", 200, "hello", "fwd=stale; detail=invalidated; fwd-status=304; stored")
	p.expect("again", "GET /", 200, "hello", "hit")
	p.stale = true
	p.expect("not good", "GET /", 200, "hello", "fwd=stale; detail=unfollowed; fwd-status=304")
	p.stale = false
	p.expect("client has it", "GET /", 304, "", "hit", `If-None-Match: "7"`)
	p.asked("in all", 3)
}

// TestPlanSynthesizedValidator shows the validators that Kasoku makes.
func TestPlanSynthesizedValidator(t *testing.T) {
	for name, length := range map[string]int{"short": 5000, "long": maxEarly + 5000} {
		t.Run(name, func(t *testing.T) {
			var body atomic.Value
			one, two := strings.Repeat("a", length), strings.Repeat("b", length)
			body.Store(one)
			p := newPlanner(t, answering(&body, "Content-Type: text/plain"))
			first := p.expect("first", "GET /", 200, one, "fwd=uri-miss; stored")
			if length <= maxEarly && first.get("ETag") == "" {
				t.Error("the first answer has no ETag")
			}
			hit := p.expect("hit", "GET /", 200, one, "hit")
			tag := hit.get("ETag")
			if !strings.HasPrefix(tag, `"k-`) {
				t.Fatalf("ETag %s", tag)
			}
			p.expect("client has it", "GET /", 304, "", "hit", "If-None-Match: "+tag)
			before := p.stored()
			p.move()
			if length <= maxEarly {
				p.expect("the same again", "GET /", 304, "", "fwd=stale; detail=invalidated", "If-None-Match: "+tag)
			} else {
				p.expect("the same again", "GET /", 200, one, "fwd=stale; detail=invalidated")
			}
			if after := p.stored(); after == before || after.Body != before.Body {
				t.Errorf("an unchanged body was stored again, or its object was not replaced")
			}
			if strings.Contains(joined(p.origin.requests()), "If-None-Match") {
				t.Errorf("the origin was sent a synthesized validator")
			}
			body.Store(two)
			p.move()
			p.expect("another", "GET /", 200, two, "fwd=stale; detail=invalidated", "If-None-Match: "+tag)
			if got := p.expect("hit", "GET /", 200, two, "hit").get("ETag"); got == tag || got == "" {
				t.Errorf("the ETag of another body is %s, the former one %s", got, tag)
			}
		})
	}
}

// stored returns the object under the key.
func (p *planner) stored() *store.Object {
	return p.store.Find(&store.Query{Key: []byte(p.key), Options: planOptions}).Object
}

// TestPlanUnrequested304 checks that a 304 to an unconditional request is not an answer.
func TestPlanUnrequested304(t *testing.T) {
	p := newPlanner(t, func(a *asked) {
		if a.n > 1 {
			a.respond("HTTP/1.1 304 Not Modified\n\n")
			return
		}
		a.respond("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")
	})
	p.expect("first", "GET /", 200, "hello", "fwd=uri-miss; stored")
	p.move()
	if g := p.ask("GET /"); g.status != 502 {
		t.Errorf("got %s", g)
	}
}

func TestPlanNotStored(t *testing.T) {
	f := func(name, how string, change func(*planner)) {
		t.Run(name, func(t *testing.T) {
			var body atomic.Value
			body.Store("hello")
			p := newPlanner(t, answering(&body))
			change(p)
			p.expect("first", "GET /", 200, "hello", "fwd=uri-miss; "+how)
			p.expect("second", "GET /", 200, "hello", "fwd=uri-miss; "+how)
			p.asked("in all", 2)
		})
	}
	f("not to be kept", "detail=unsettled", func(p *planner) { p.discard = true })
	f("not admitted", "detail=unsound", func(p *planner) {
		p.admits = func(_ int, f http1.Fields) Admission { return Admission{Fields: f} }
	})
	f("during a write", "detail=unsettled", func(p *planner) {
		w, err := p.space.Cache().Begin(p.t.Context(), []cache.Tag{theTag}, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { w.Unknown() })
	})
	f("unsound", "stored", func(p *planner) { p.sound = func(*store.Body) bool { return false } })
}

// TestPlanClientFields checks fields for the client that caused the fetch only.
func TestPlanClientFields(t *testing.T) {
	var body atomic.Value
	body.Store("hello")
	p := newPlanner(t, answering(&body))
	p.admits = func(_ int, f http1.Fields) Admission {
		return Admission{Fields: f, ClientFields: http1.FieldsOf("Set-Cookie", "a=b"), Store: true}
	}
	if g := p.expect("first", "GET /", 200, "hello", "fwd=uri-miss; stored"); g.get("Set-Cookie") != "a=b" {
		t.Errorf("the first client did not get its cookie: %s", g)
	}
	if g := p.expect("second", "GET /", 200, "hello", "hit"); g.get("Set-Cookie") != "" {
		t.Errorf("the second client got the first one's cookie: %s", g)
	}
}

func TestPlanPost(t *testing.T) {
	p := newPlanner(t, func(a *asked) {
		text := a.head[:4] + a.body
		a.respond("HTTP/1.1 200 OK\nContent-Length: " + strconv.Itoa(len(text)) + "\n\n" + text)
	})
	p.post = true
	c := p.dial()
	for i, how := range []string{"fwd=uri-miss; stored", "hit"} {
		c.send("POST /q HTTP/1.1\nHost: site\nContent-Length: 2\nIf-None-Match: *\n\n{}")
		g := c.rest(c.head(), "POST")
		if g.status != 200 || g.body != "POST{}" || !strings.HasPrefix(g.get("Cache-Status"), "kasoku; "+how) {
			t.Errorf("answer %d: got %s; want %s", i, g, how)
		}
	}
	p.asked("in all", 1)
}

// TestPlanFaults checks that a request is forwarded if a filler panics.
func TestPlanFaults(t *testing.T) {
	for _, where := range []string{"fill", "ask", "admit"} {
		t.Run(where, func(t *testing.T) {
			var body atomic.Value
			body.Store("hello")
			p := newPlanner(t, answering(&body, `ETag: "1"`))
			p.panics = where
			p.expect("with a fault", "GET /", 200, "hello", "fwd=bypass; detail=cache-fault")
			p.panics = ""
			p.expect("without", "GET /", 200, "hello", "fwd=uri-miss; stored")
		})
	}
}

// TestPlanCut checks that a body that breaks off is not sent as complete and not stored.
func TestPlanCut(t *testing.T) {
	p := newPlanner(t, func(a *asked) {
		a.respond("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n")
		a.conn.Close()
	})
	if g := p.ask("GET /"); g.status != 502 {
		t.Errorf("got %s", g)
	}
	if p.stored() != nil {
		t.Error("the body is stored")
	}
}

// TestFaultClosesOriginConnection checks that a panic in Admit closes the connection to the
// origin.
func TestFaultClosesOriginConnection(t *testing.T) {
	left := make(chan error, 1)
	p := newPlanner(t, func(a *asked) {
		if a.n > 1 {
			a.respond("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")
			return
		}
		a.respond("HTTP/1.1 200 OK\nContent-Length: 5\n\nhe")
		_, err := a.conn.Read(make([]byte, 1))
		left <- err
	})
	p.panics = "admit"
	p.expect("after the fault", "GET /", 200, "hello", "fwd=bypass; detail=cache-fault")
	if err := <-left; err == nil {
		t.Error("the origin received more bytes, want a closed connection")
	}
}

// TestPlanSince checks that a request does not join a fetch that began before its Since.
func TestPlanSince(t *testing.T) {
	var late atomic.Int64
	p := newPlanner(t, nil)
	release, received := make(chan struct{}), make(chan struct{}, 3)
	p.origin.script = func(a *asked) {
		received <- struct{}{}
		<-release
		a.respond("HTTP/1.1 200 OK\nContent-Length: 5\nETag: \"1\"\n\nhello")
	}
	p.server.SetHandler(edge.HandlerFunc(func(x *edge.Exchange) {
		p.Service.Read(x, &Plan{Key: []byte("k"), Since: late.Load(), Options: planOptions, Filler: p})
	}))
	answers := make(chan *got, 3)
	go func() { answers <- p.ask("GET /") }()
	<-received
	late.Store(p.space.Cache().Now() + int64(time.Hour))
	go func() { answers <- p.ask("GET /") }()
	<-received
	close(release)
	for range 2 {
		if g := <-answers; g.status != 200 || g.body != "hello" {
			t.Errorf("got %s", g)
		}
	}
}

// TestPlanStarterOnly checks which requests get an answer that may not be stored: waiting ones
// too, except with StarterOnly.
func TestPlanStarterOnly(t *testing.T) {
	f := func(what string, alone bool, requests int) {
		t.Run(what, func(t *testing.T) {
			p := newPlanner(t, nil)
			p.discard, p.alone = true, alone
			release := make(chan struct{})
			p.origin.script = func(a *asked) {
				<-release
				a.respond("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")
			}
			answers := make(chan *got, 2)
			go func() { answers <- p.ask("GET /") }()
			waitFor(t, func() bool { return len(p.origin.requests()) == 1 })
			go func() { answers <- p.ask("GET /") }()
			waitFor(t, func() bool { return p.Stats().Joined == 1 })
			close(release)
			for range 2 {
				if g := <-answers; g.status != 200 || g.body != "hello" {
					t.Errorf("got %s", g)
				}
			}
			p.asked("for two clients", requests)
		})
	}
	f("for all", false, 1)
	f("for one", true, 2)
}

// TestPassThroughFinished checks that Finished is called before the client is answered.
func TestPassThroughFinished(t *testing.T) {
	p := newPlanner(t, func(a *asked) {
		switch {
		case strings.Contains(a.head, "/whole"):
			a.respond("HTTP/1.1 201 Created\nContent-Length: 5\n\nhello")
		case strings.Contains(a.head, "/cut"):
			a.respond("HTTP/1.1 201 Created\nContent-Length: 5\n\nhe")
			a.conn.Close()
		default:
			a.conn.Close()
		}
	})
	p.passes = true
	f := func(path, want string, status int) {
		p.settled = make(chan WriteOutcome, 1)
		g := p.ask("PUT " + path)
		s := <-p.settled
		got := strconv.Itoa(s.Status) + " " + string(s.Body)
		if s.Fault != nil {
			got = "fault"
		} else if !s.Whole {
			got = "not whole"
		}
		if got != want || g.status != status {
			t.Errorf("%s: Finished got %s, the client %s; want %s and %d", path, got, g, want, status)
		}
	}
	f("/whole", "201 hello", 201)
	f("/cut", "not whole", 502)
	f("/none", "fault", 502)
	p.refusal = &Refusal{Status: 500, ContentType: "application/json", Body: "{}", Err: errors.New("refused")}
	f("/whole", "201 hello", 500)
	f("/none", "fault", 500)
}

func TestPlannedHitAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates")
		return
	}
	var body atomic.Value
	body.Store("hello")
	p := newPlanner(t, answering(&body))
	p.expect("first", "GET /", 200, "hello", "fwd=uri-miss; stored")
	var r http1.Request
	text := "GET / HTTP/1.1\r\nHost: site\r\nAuthorization: Basic eA==\r\n\r\n"
	if _, err := http1.ParseRequest([]byte(text), &http1.Limits{}, &r); err != nil {
		t.Fatal(err)
	}
	x := edge.Detached(t.Context(), r, nil, time.Now())
	plan := &Plan{Key: []byte("k"), Valid: true, Options: planOptions, Filler: p}
	f := func() {
		x.Reply.Reset()
		p.Service.Read(x, plan)
	}
	f()
	if got := x.Record.Decision.String(); got != "hit" {
		t.Fatalf("the decision is %s, want hit", got)
	}
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
