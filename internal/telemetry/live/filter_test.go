package live

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

func sample() *telemetry.Record {
	return &telemetry.Record{
		Time: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), Duration: 51 * time.Millisecond, Origin: 1500 * time.Microsecond,
		Service: "orders", RequestID: []byte("r-1"), Operation: "GetItem", Table: []byte("users"), Path: []byte("/a b"), KeyHash: 0xab,
		Status: 400, Decision: telemetry.MissInvalidated, Reason: "malformed", Error: "ValidationException", Principal: []byte("AKIA"),
		BytesIn: 100, BytesOut: 2000, Client: netip.MustParseAddrPort("127.0.0.1:5000"), UserAgent: []byte(`aws-cli/2 "x"`), TLS: true,
	}
}

func TestMatch(t *testing.T) {
	f := func(filter string, want bool) {
		t.Helper()
		got, err := Parse(filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			return
		}
		if got.Match(sample()) != want {
			t.Errorf("%s: got %v", filter, !want)
		}
	}
	f("", true)
	f("  ", true)
	f("table=users decision=miss-invalidated status>=400 time>50ms", true)
	f("table=users\tdecision=miss", false)
	f("table=orders", false)
	f("TABLE=users", true)
	f("table=orders,users", true)
	f("table!=orders,users", false)
	f("table!=orders,items", true)
	f("table=use*", true)
	f("table=user?", true)
	f("table=", false)
	f("table!=", true)
	f(`path="/a b"`, true)
	f(`path="/a b",/c`, true)
	f(`path=/c,"/a b"`, true)
	f(`path=/a`, false)
	f(`path=/a" "b`, true)
	f(`user_agent="aws-cli/2 \"x\""`, true)
	f("decision=miss*", true)
	f("decision!=hit,hit-*", true)
	f("status=400", true)
	f("status=200,400", true)
	f("status!=200,400", false)
	f("status>400", false)
	f("status<=400", true)
	f("status<400", false)
	f("time>=51ms", true)
	f("time>51ms", false)
	f("time<1s", true)
	f("time=51ms", true)
	f("duration_us>50000", true)
	f("duration_us>=51ms", true)
	f("duration_us>51000", false)
	f("origin>1ms", true)
	f("origin_us=1500", true)
	f("bytes_in=100 bytes_out>1000", true)
	f("bytes_out>=2001", false)
	f("tls=true", true)
	f("tls=false", false)
	f("tls!=false", true)
	f("request_id=r-1 service=orders operation=Get* reason=malformed error=*Exception principal=AKIA", true)
	f("key=00000000000000ab", true)
	f("client=127.0.0.1:*", true)
	f("client=10.*", false)
}

// Values that a record does not have are empty.
func TestMatchEmpty(t *testing.T) {
	for _, name := range fieldNames {
		fd := fieldNamed(name)
		if fd.kind != text || name == "decision" {
			continue
		}
		f, err := Parse(name + "=")
		if err != nil || !f.Match(&telemetry.Record{}) {
			t.Errorf("%s: an empty record has a value, or %v", name, err)
		}
	}
}

// Each field of the access log can be selected by its own name, except its time.
func TestFields(t *testing.T) {
	for i, f := range telemetry.Fields[1:] {
		got := fieldNamed(f.Name)
		if got == nil || got.id != 1<<(i+1) {
			t.Errorf("%s: got %+v", f.Name, got)
		}
	}
}

func TestParseErrors(t *testing.T) {
	f := func(filter string, want ...string) {
		t.Helper()
		_, err := Parse(filter)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %s", filter, err, w)
			}
		}
	}
	f("tabel=users", `there is no field "tabel"`, `did you mean "table"?`, "request_id service")
	f("status", `"status" is not a field, an operator`)
	f("=3", `"=3" is not a field, an operator`)
	f("status=200 oops", `"oops" is not a field`)
	f("decision=mis", `decision=: there is no decision "mis" (did you mean "miss"?)`, "revalidated")
	f("status=ok", `status=: "ok" is no whole number`)
	f("status>1,2", "status>: several values are only for = and !=")
	f("table>a", "table>: this field has no order")
	f("tls>=true", "tls>=: this field has no order")
	f("tls=yes", `"yes" is not true or false`)
	f("time>50", `time>: "50" is no duration such as 50ms`)
	f("duration_us>-1", `"-1" is no duration`)
	f("duration_us>9223372036854775807", "is no duration")
	f(`path="/a`, `path=: a quotation mark " is missing`)
	f(strings.Repeat("status=1 ", maxTerms+1), "at most 32 terms")
}

func TestMatchAllocates(t *testing.T) {
	f, err := Parse(`path!="/b*" key=*ab client=127.* decision=miss* status>=400 time>1ms tls=true`)
	if err != nil {
		t.Fatal(err)
	}
	r := sample()
	if n := testing.AllocsPerRun(100, func() {
		if !f.Match(r) {
			t.Error("it does not match")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`table=users decision=miss* status>=400 time>50ms`)
	f.Add(`path="/a \" b",c tls=true`)
	r := sample()
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Parse(text); err == nil {
			got.Match(r)
		}
	})
}
