package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
)

const verifiedServices = `admin: {listen: "127.0.0.1:0"}
services:
  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}, verify: {rate: 1000/s, budget: 1000 RCU}}
  site: {type: http, listen: "127.0.0.1:0", origins: ["http://127.0.0.1:1"]}
`

// TestVerifyCommand runs the commands of the pages about the comparison, while there are hits.
func TestVerifyCommand(t *testing.T) {
	r := run(t, verifiedServices)
	r.ask("orders", "CreateTable", createT)
	r.ask("orders", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"}}}`)
	get := func() { r.ask("orders", "GetItem", `{"TableName":"tab","Key":{"id":{"S":"1"}}}`) }
	get()
	traffic, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for traffic.Err() == nil {
			get()
		}
	}()
	defer func() { stop(); <-ended }()
	file := filepath.Join(t.TempDir(), "keys.txt")
	if err := os.WriteFile(file, []byte("tab id=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range []string{"observability.md", "cli.md"} {
		for line := range strings.Lines(pages(t)[page]) {
			args, ok := strings.CutPrefix(line, "    kasoku verify")
			if !ok || strings.HasPrefix(args, " [SERVICE]") {
				continue
			}
			args, _, _ = strings.Cut(args, "  ") // a comment
			args = strings.NewReplacer("keys.txt", file, "--count 29956", "--count 30", "--for 1h", "--for 300ms").Replace(args)
			if args = strings.TrimSpace(args); args == "orders" {
				args += " --for 300ms"
			}
			r.verify(codeOK, words(t, args)...)
			found++
		}
	}
	if found < 4 {
		t.Errorf("the pages have %d commands", found)
	}

	var totals verifyTotals
	out := r.verify(codeOK, "orders", "--count", "20", "--rate", "500", "--json")
	if err := json.Unmarshal([]byte(out), &totals); err != nil || totals.Equal < 20 || totals.VerifyCounts.Violations != 0 || *totals.RightAtLeast != admin.RightAtLeast(totals.Equal) {
		t.Errorf("got %v, %s", err, out)
	}
	if want := " are right, with a confidence of 95 %\n"; !strings.Contains(r.verify(codeOK), want) {
		t.Error("no result is printed")
	}
	var s admin.VerifyStatement
	if err := json.Unmarshal([]byte(r.verify(codeOK, "--json")), &s); err != nil || len(s.Services) != 1 || s.Services[0].Rate != 1000 || s.Services[0].Equal == 0 || s.Services[0].ReadUnits < float64(s.Services[0].Equal) {
		t.Errorf("got %v, %+v", err, s)
	}
	if text := r.page("/api/v1/report"); !strings.Contains(text, "\nVERIFIED  CHECKED") {
		t.Errorf("got the report\n%s", text)
	}
	if text := r.page("/metrics"); !strings.Contains(text, `kasoku_verify_checks_total{result="violation",service="orders"} 0`) {
		t.Error("there is no metric of violations")
	}

	if err := os.WriteFile(file, []byte("tab id=1\ntab id=2\ntab x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out = r.verify(codeInput, "orders", "--keys", file); !strings.Contains(out, "orders: 1 answers checked") || !strings.Contains(out, "1 entries of the list are not stored") {
		t.Errorf("got %s", out)
	}
}

// verify returns the output of kasoku verify.
func (r *running) verify(want int, args ...string) string {
	r.t.Helper()
	code, out, errs := command(r.t, append(append([]string{"verify"}, args...), "--admin", "http://"+r.AdminAddr().String()))
	if code != want {
		r.t.Errorf("kasoku verify %q: exit code %d: %s%s", args, code, out, errs)
	}
	return out
}

// TestVerifyNotCounted checks that comparisons are no requests of clients.
func TestVerifyNotCounted(t *testing.T) {
	r := run(t, verifiedServices)
	r.ask("orders", "CreateTable", createT)
	for range 3 {
		r.ask("orders", "GetItem", `{"TableName":"tab","Key":{"id":{"S":"1"}}}`)
	}
	out := r.verify(codeOK, "orders", "--keys", listOf(t, "tab id=1\n"))
	if !strings.Contains(out, "orders: 1 answers checked, 0 violations: at least 5.0 % are right") {
		t.Errorf("got %s", out)
	}
	r.settle("orders")
	var services []admin.ServiceJSON
	if err := json.Unmarshal([]byte(r.page("/api/v1/services")), &services); err != nil {
		t.Fatal(err)
	}
	all := uint64(0)
	for _, n := range services[0].Decisions {
		all += n
	}
	if all != 4 {
		t.Errorf("%d requests are counted, want 4", all)
	}
}

// listOf returns a file with a list.
func listOf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestVerifyPrints checks how violations are printed, and that they are a failure.
func TestVerifyPrints(t *testing.T) {
	const violation = `{"service":"orders","table":"tab","kind":"item","key":"0123","why":"the origin had another value","cached":"a","origin":"b","differs":["n","v"],` +
		`"filled":"2026-11-30T09:00:00Z","served":"2026-11-30T09:01:00Z","read_began":"2026-11-30T09:01:01Z","read_ended":"2026-11-30T09:01:02Z",` +
		`"tags":[{"name":"item","then":3,"now":4,"writers":1}],"writes":[{"time":"2026-11-30T09:00:30Z","operation":"PutItem","request_id":"r1"}]}`
	answer := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, answer) }))
	defer api.Close()
	f := func(text string, wantCode int, want, wantErrors string, args ...string) {
		t.Helper()
		answer = text
		code, out, errs := command(t, append(append([]string{"verify"}, args...), "--admin", api.URL))
		if code != wantCode || out != want || errs != wantErrors {
			t.Errorf("%q: %d\n%s%s\nwant %d\n%s%s", args, code, out, errs, wantCode, want, wantErrors)
		}
	}
	const printed = `violation: item 0123 of table tab: the origin had another value
  differs in n, v; cached a, origin b
  2026-11-30T09:00:00Z stored
  2026-11-30T09:00:30Z write: PutItem r1
  2026-11-30T09:01:00Z served
  2026-11-30T09:01:01Z read of the origin began
  2026-11-30T09:01:02Z read of the origin ended
  tag item: generation 3 when stored, 4 now, 1 writes in flight
orders: 10 answers checked, 1 violations
  0 explained, 2 unexplained, 0 skipped; 10.5 read units
`
	f(fmt.Sprintf(`{"equal":9,"violations":1,"unexplained":2,"read_units":10.5,"violation_details":[%s]}`+"\n"+`{"equal":9,"violations":1,"unexplained":2,"read_units":10.5,"done":true}`, violation),
		codeInput, printed, "", "orders")
	f(fmt.Sprintf(`{"services":[{"service":"orders","equal":9,"violations":1,"unexplained":2,"read_units":10.5,"recent_violations":[%s]}]}`, violation), codeInput, printed, "")
	const nothing = "orders: 1 answers checked, 0 violations: at least 5.0 % are right, with a confidence of 95 %\n  0 explained, 0 unexplained, 0 skipped; 0.0 read units\n"
	f(`{"equal":1}`, codeInput, nothing, "kasoku: the admin API's answer broke off\n", "orders")
	f(`{"equal":1,"error":"stopped"}`, codeInput, nothing, "kasoku: stopped\n", "orders")
	f(`{"equal":0,"error":"stopped"}`, codeInput, "", "kasoku: stopped\n", "orders")
	for _, args := range []string{"--count 3", "--keys x", "orders --keys x --for 1s", "orders --rate=-1"} {
		if code, _, errs := command(t, append([]string{"verify"}, strings.Fields(args)...)); code != codeUsage {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}
