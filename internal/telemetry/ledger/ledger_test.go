package ledger

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

func open(t *testing.T, name string) *Ledger {
	t.Helper()
	l, err := Open(name, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.Configure(map[string]Price{"orders": {}})
	return l
}

func hit(table, principal string) *telemetry.Record {
	return &telemetry.Record{
		Service: "orders", Table: []byte(table), Operation: "GetItem", Principal: []byte(principal), Status: 200,
		Decision: telemetry.Hit, Saved: 1, Duration: time.Microsecond,
	}
}

// lines are the rows of all hours, with their requests, the units read and saved.
func lines(l *Ledger, by ...string) string {
	var b strings.Builder
	for _, r := range l.Statement(Query{By: by}).Rows {
		if r.Hour != nil {
			b.WriteString(r.Hour.Format("2T15 "))
		}
		fmt.Fprintf(&b, "%s %s: %d %d %d\n", r.Table, r.Principal, r.Requests, int(2*r.ReadUnits), int(2*r.SavedUnits))
	}
	return b.String()
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%swant\n%s", what, got, want)
	}
}

// Figures are kept by hour, also over restarts, until they are too old.
func TestHours(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	synctest.Test(t, func(t *testing.T) {
		l := open(t, name)
		use := func(table string) {
			l.Tap(telemetry.Discard()).Log(hit(table, "k"))
			l.Used(Use{Service: "orders", Table: table, Operation: "GetItem", Principal: "k", Read: 3})
		}
		use("a")
		time.Sleep(time.Hour)
		use("b")
		expect(t, "two hours", lines(l, "hour", "table"), "1T00 a : 1 3 1\n1T01 b : 1 3 1\n")
		l.Close()
		use("b") // too late
		l = open(t, name)
		use("b")
		time.Sleep(3 * time.Hour)
		use("a")
		const all = "1T00 a : 1 3 1\n1T01 b : 2 6 2\n1T04 a : 1 3 1\n"
		expect(t, "after a restart", lines(l, "hour", "table"), all)
		expect(t, "summed up", lines(l), " : 4 12 4\n")
		expect(t, "since", func() string {
			rows := l.Statement(Query{From: time.Now().Add(-time.Hour), By: []string{"table"}}).Rows
			return fmt.Sprint(len(rows), rows[0].Requests)
		}(), "1 1")
		l.Close()
		l = open(t, name)
		expect(t, "after another restart", lines(l, "hour", "table"), all)
		time.Sleep(Retention - 3*time.Hour)
		expect(t, "the first ones are too old", lines(l, "hour", "table"), "1T01 b : 2 6 2\n1T04 a : 1 3 1\n")
		time.Sleep(2 * time.Hour)
		l.Close()
		l = open(t, name)
		expect(t, "in the file too", lines(l, "hour", "table"), "1T04 a : 1 3 1\n")
		l.Close()
	})
}

// A process that is killed loses the last minute, whatever it was writing then.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "ledger")
	synctest.Test(t, func(t *testing.T) {
		l := open(t, name)
		log := func(table string) { l.Tap(telemetry.Discard()).Log(hit(table, "")) }
		log("a")
		time.Sleep(time.Hour)
		for i := range 3 {
			log("b")
			log("c")
			if i == 1 {
				before, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				// The next collection is interrupted at any byte.
				defer func() { interrupt(t, dir, before, name) }()
			}
			time.Sleep(2 * interval)
		}
		l.Close()
	})
}

// interrupt checks what is read from files that begin as the later one and continue as the one
// before.
func interrupt(t *testing.T, dir string, before []byte, name string) {
	after, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(header) + 1; n <= len(after); n++ {
		mixed := bytes.Clone(after[:n])
		if n < len(before) {
			mixed = append(mixed, before[n:]...)
		}
		copied := filepath.Join(dir, "mixed")
		if err := os.WriteFile(copied, mixed, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, copied)
		for _, r := range l.Statement(Query{By: []string{"table"}}).Rows {
			if least := map[string]uint64{"a": 1, "b": 0, "c": 0}[r.Table]; r.Requests < least || r.Requests > 3 {
				t.Fatalf("with %d new bytes: %s has %d requests", n, r.Table, r.Requests)
			}
		}
		l.Close()
	}
}

func TestFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	l := open(t, name)
	if _, err := Open(name, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("opened twice: %v", err)
	}
	l.Close()
	foreign := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(foreign, []byte("dear diary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(foreign, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "is no ledger") {
		t.Errorf("another file: %v", err)
	}
	if data, _ := os.ReadFile(foreign); string(data) != "dear diary\n" {
		t.Errorf("it was changed to %q", data)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "ledger"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("no error without a directory")
	}
}

// Clients can't make more than a number of accounts and of rows.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, "")
		defer l.Close()
		sink := l.Tap(telemetry.Discard())
		refused := hit("made-up", "k")
		refused.Status = 400
		sink.Log(refused)
		expect(t, "refused", lines(l, "table", "principal"), "other : 1 0 1\n")
		for i := range 2 * maxPrincipals {
			sink.Log(hit("a", fmt.Sprint("p", i)))
		}
		sink.Log(hit("a", strings.Repeat("p", maxName+1)))
		if rows := l.Statement(Query{By: []string{"principal"}}).Rows; len(rows) != maxPrincipals+2 || rows[0].Principal != other || rows[0].Requests != maxPrincipals+1 {
			t.Errorf("%d principals, first %+v", len(rows), rows[0])
		}
		for i := range 2 * maxAccounts {
			sink.Log(hit(fmt.Sprint("t", i), "k"))
		}
		if n := len(l.accounts.all()); n != maxAccounts+1 {
			t.Errorf("%d accounts", n)
		}
		time.Sleep(time.Hour)
		rows, sum := l.Statement(Query{By: []string{"table", "principal"}}).Rows, uint64(0)
		for _, r := range rows {
			sum += r.Requests
		}
		if len(rows) > maxRows || sum != 1+2*maxPrincipals+1+2*maxAccounts {
			t.Errorf("%d rows with %d requests", len(rows), sum)
		}
	})
}

func TestConcurrentRequests(t *testing.T) {
	l := open(t, "")
	defer l.Close()
	sink := l.Tap(telemetry.Discard())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 1000 {
				sink.Log(hit(fmt.Sprint("t", i%50), "k"))
				l.Used(Use{Service: "orders", Table: "t1", Operation: "GetItem", Read: 1})
				if i%100 == 0 {
					l.Statement(Query{})
				}
			}
		})
	}
	all.Wait()
	expect(t, "sum", lines(l), " : 4000 4000 4000\n")
}

func TestGroups(t *testing.T) {
	if by, err := ParseGroups("table, hour"); err != nil || len(by) != 2 {
		t.Errorf("got %v, %v", by, err)
	}
	for _, bad := range []string{"", "tables", "table,"} {
		if _, err := ParseGroups(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestLogAllocates(t *testing.T) {
	l := open(t, "")
	defer l.Close()
	sink, r := l.Tap(telemetry.Discard()), hit("users", "AKIAEXAMPLE")
	sink.Log(r)
	if n := testing.AllocsPerRun(100, func() { sink.Log(r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLog(b *testing.B) {
	l, err := Open("", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	l.Configure(map[string]Price{"orders": {}})
	sink := l.Tap(telemetry.Discard())
	b.RunParallel(func(pb *testing.PB) {
		r := hit("users", "AKIAEXAMPLE")
		for pb.Next() {
			sink.Log(r)
		}
	})
}

func TestStatement(t *testing.T) {
	l := open(t, "")
	defer l.Close()
	l.Configure(map[string]Price{"orders": {Read: 2, Write: 10, Currency: "EUR"}, "users": {}})
	sink := l.Tap(telemetry.Discard())
	for range 3 {
		sink.Log(hit("a", "k"))
	}
	sink.Log(&telemetry.Record{
		Service: "orders", Table: []byte("a"), Operation: "GetItem", Status: 200, Decision: telemetry.Miss, Duration: 3 * time.Millisecond, Origin: 2 * time.Millisecond,
	})
	l.Used(Use{Service: "orders", Table: "a", Operation: "GetItem", Read: 4e6, Write: 2e6, Filled: 1e6})
	l.Used(Use{Service: "users", Table: "b", Operation: "GetItem", Read: 2})
	s := l.Statement(Query{By: []string{"table"}})
	if s.Currency != "EUR" || s.PriceDate != "" || len(s.Rows) != 2 {
		t.Fatalf("got %+v", s)
	}
	r, o := s.Rows[0], s.Rows[1]
	if r.Table != "a" || r.Service != "" || r.Requests != 4 || r.Hits != 3 || r.ReadUnits != 2e6 || r.WriteUnits != 1e6 || r.SavedUnits != 1.5 || r.UnusedUnits != 5e5 {
		t.Errorf("got %+v", r)
	}
	if d := *r.SavedSeconds - (3*0.002 - 3e-6); d > 1e-9 || d < -1e-9 || r.AddedSeconds != 0.001 || *r.Spent != 14 || *r.Saved != 1.5*2/1e6 || *r.Unused != 1 {
		t.Errorf("got %v %v %v %v %v", *r.SavedSeconds, r.AddedSeconds, *r.Spent, *r.Saved, *r.Unused)
	}
	if o.Table != "b" || o.ReadUnits != 1 || o.Spent != nil || o.SavedSeconds != nil {
		t.Errorf("without a price: got %+v", o)
	}
	if s.Total.Requests != 4 || s.Total.ReadUnits != 2e6+1 || *s.Total.Spent != 14 {
		t.Errorf("total: got %+v", s.Total)
	}
	if s := l.Statement(Query{By: []string{"service"}, Service: "users"}); len(s.Rows) != 1 || s.Rows[0].Service != "users" || s.Currency != "" {
		t.Errorf("of one service: got %+v", s)
	}
	if PriceOf("us-east-1").Date != listDate || PriceOf("local") != (Price{}) {
		t.Error("prices of regions")
	}
}
