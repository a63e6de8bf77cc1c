package fluent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/tinylib/msgp/msgp"

	"github.com/kasoku/kasoku/fluent/internal/race"
)

func TestHandlerConforms(t *testing.T) {
	f := func(opts *HandlerOptions) {
		t.Helper()
		s := &keeper{t: t}
		opts.TimeKey = slog.TimeKey
		results := func() []map[string]any {
			var list []map[string]any
			for _, b := range s.bodies {
				m, _, err := msgp.ReadMapStrIntfBytes(b, nil)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, m)
			}
			return list
		}
		if err := slogtest.TestHandler(newHandler(s, "app", opts), results); err != nil {
			t.Error(err)
		}
	}
	f(&HandlerOptions{})
	f(&HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return a }})
}

// upper is a LogValuer.
type upper string

func (u upper) LogValue() slog.Value { return slog.StringValue(strings.ToUpper(string(u))) }

// login is a LogValuer that makes a group.
type login struct{ name, password string }

func (l login) LogValue() slog.Value { return slog.GroupValue(slog.String("name", l.name)) }

func TestHandler(t *testing.T) {
	f := func(log func(*slog.Logger), want string) {
		t.Helper()
		s := &keeper{t: t}
		log(slog.New(newHandler(s, "app.log", nil)))
		got := s.take()
		if len(got) != 1 || got[0] != `{"level":"INFO","msg":"m"`+want+`}` {
			t.Fatalf("got  %q\nwant %s", got, want)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f(func(l *slog.Logger) { l.Info("m") }, ``)
	f(func(l *slog.Logger) { l.Info("m", "n", -1, "u", uint64(2), "x", 1.5, "y", true) }, `,"n":-1,"u":2,"x":1.5,"y":true`)
	f(func(l *slog.Logger) { l.Info("m", "t", at, "z", time.Second) }, `,"t":"2026-01-02T03:04:05Z","z":1000000000`)
	f(func(l *slog.Logger) { l.Info("m", "n", nil, "s", []string{"a"}, "x", errors.New("bad")) }, `,"n":null,"s":["a"],"x":"bad"`)
	f(func(l *slog.Logger) { l.Info("m", "up", upper("case"), "user", login{"ada", "secret"}) }, `,"up":"CASE","user":{"name":"ada"}`)
	f(func(l *slog.Logger) { l.Info("m", "x", make(chan int)) }, `,"x":"!ERROR: fluent: record.x: can't encode chan int"`)
	f(func(l *slog.Logger) { l.Info("m", slog.Attr{}, slog.Group("g"), slog.Group("g2", slog.Attr{})) }, ``)
	f(func(l *slog.Logger) { l.Info("m", slog.Group("", "within", "line")) }, `,"within":"line"`)
	f(func(l *slog.Logger) { l.Info("m", slog.Group("o", "a", 1, slog.Group("p", "b", 2))) }, `,"o":{"a":1,"p":{"b":2}}`)

	f(func(l *slog.Logger) { l.With("n", 1).With("o", 2).Info("m", "p", 3) }, `,"n":1,"o":2,"p":3`)
	f(func(l *slog.Logger) { l.WithGroup("o").WithGroup("p").Info("m") }, ``)
	f(func(l *slog.Logger) { l.WithGroup("o").WithGroup("p").Info("m", "q", 1) }, `,"o":{"p":{"q":1}}`)
	f(func(l *slog.Logger) { l.WithGroup("o").With("a", 1).WithGroup("p").Info("m") }, `,"o":{"a":1}`)
	f(func(l *slog.Logger) {
		l.WithGroup("o").WithGroup("p").With("a", 1).WithGroup("q").Info("m", slog.Group("r"))
	}, `,"o":{"p":{"a":1}}`)
	f(func(l *slog.Logger) { l.WithGroup("o").With().Info("m", "a", upper("x")) }, `,"o":{"a":"X"}`)
}

// TestHandlersShareNoAttributes checks that handlers made from one don't write into each
// other's attributes.
func TestHandlersShareNoAttributes(t *testing.T) {
	s := &keeper{t: t}
	base := slog.New(newHandler(s, "app", nil)).With("a", 1).WithGroup("n").With("b", 2)
	one, two := base.With("c", 1).WithGroup("x"), base.With("c", 2).WithGroup("y")
	one.Info("one", "d", 1)
	two.Info("two", "d", 2)
	base.Info("base")
	want := []string{
		`{"a":1,"level":"INFO","msg":"one","n":{"b":2,"c":1,"x":{"d":1}}}`,
		`{"a":1,"level":"INFO","msg":"two","n":{"b":2,"c":2,"y":{"d":2}}}`,
		`{"a":1,"level":"INFO","msg":"base","n":{"b":2}}`,
	}
	if got := strings.Join(s.take(), "\n"); got != strings.Join(want, "\n") {
		t.Fatalf("got\n%s", got)
	}
}

func TestHandlerOptions(t *testing.T) {
	var lowest slog.LevelVar
	s := &keeper{t: t}
	var seen []string
	h := newHandler(s, "app", &HandlerOptions{
		Level:   &lowest,
		TimeKey: "at",
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			seen = append(seen, strings.Join(append(groups[:len(groups):len(groups)], a.Key), "."))
			switch a.Key {
			case "msg":
				a.Key = "message"
			case "at":
				a.Value = slog.Int64Value(a.Value.Time().Unix())
			case "password":
				return slog.Attr{}
			}
			return a
		},
	})
	l := slog.New(h).With("w", 1).WithGroup("g")
	l.Debug("not this")
	at := time.Unix(1700000000, 5)
	r := slog.NewRecord(at, slog.LevelWarn+1, "text", 0)
	r.Add("password", "secret", slog.Group("in", "password", "x", "k", "v"), slog.Group("", "flat", 1))
	if err := l.Handler().Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if len(s.times) != 1 || !s.times[0].Equal(at) || s.tags[0] != "app" {
		t.Fatalf("times %v, tags %v", s.times, s.tags)
	}
	want := `{"at":1700000000,"g":{"flat":1,"in":{"k":"v"}},"level":"WARN+1","message":"text","w":1}`
	if got := s.take()[0]; got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	if got := strings.Join(seen, " "); got != "w at level msg g.password g.in.password g.in.k g.flat" {
		t.Fatalf("replaced %s", got)
	}
	lowest.Set(slog.LevelDebug)
	if l.Debug("now"); len(s.take()) != 1 {
		t.Fatal("the level can't be changed")
	}
}

func TestHandlerSource(t *testing.T) {
	s := &keeper{t: t}
	l := slog.New(newHandler(s, "app", &HandlerOptions{AddSource: true}))
	l.Info("here")
	if got := s.take()[0]; !strings.Contains(got, `"function":"github.com/kasoku/kasoku/fluent.TestHandlerSource","line":`) ||
		!strings.Contains(got, `sloghandler_test.go"`) {
		t.Fatal(got)
	}
	// A record without a call.
	if err := l.Handler().Handle(t.Context(), slog.NewRecord(time.Now(), 0, "nowhere", 0)); err != nil {
		t.Fatal(err)
	}
	if got := s.take()[0]; got != `{"level":"INFO","msg":"nowhere"}` {
		t.Fatal(got)
	}
}

// TestHandlerConcurrent shares a handler between goroutines, which also derive others from it.
func TestHandlerConcurrent(t *testing.T) {
	s := &keeper{t: t}
	base := slog.New(newHandler(s, "app", nil)).With("a", 1).WithGroup("g")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mine := base.With("i", i)
			for j := range 50 {
				base.Info("base", "i", i, "j", j)
				mine.Info("mine", "j", j)
			}
		}()
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, r := range s.take() {
		seen[r] = true
	}
	for i := range 4 {
		for j := range 50 {
			for _, msg := range []string{"base", "mine"} {
				if r := fmt.Sprintf(`{"a":1,"g":{"i":%d,"j":%d},"level":"INFO","msg":%q}`, i, j, msg); !seen[r] {
					t.Errorf("%s is missing", r)
				}
			}
		}
	}
	if len(seen) != 400 {
		t.Errorf("%d different records", len(seen))
	}
}

func TestHandlerReturnsRefusal(t *testing.T) {
	h := newHandler(&keeper{t: t, refuse: 1}, "app", nil)
	if err := h.Handle(t.Context(), slog.Record{}); err != errRefused {
		t.Fatal(err)
	}
}

func TestHandlerAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	f := func(what string, log func()) {
		t.Helper()
		if n := testing.AllocsPerRun(200, log); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	l := slog.New(newHandler(&discard{}, "app", nil))
	ctx := context.Background()
	f("five attributes", func() {
		l.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("method", "GET"), slog.Int("status", 200),
			slog.Duration("took", time.Millisecond), slog.Bool("tls", true), slog.Float64("load", 1.5))
	})
	f("a plain message", func() { l.Info("started") })
	err := errors.New("x")
	with := l.With("service", "api", "version", 3).WithGroup("http")
	f("with groups", func() {
		with.LogAttrs(ctx, slog.LevelError, "failed", slog.Any("err", err), slog.Time("t", time.Time{}))
	})
	f("not enabled", func() { l.Debug("nothing", "a", "b") })
}
