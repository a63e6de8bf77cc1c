package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// accountedServices is a service in front of a store, which is a service too. The ledger accounts for
// both; a third service is not of its type.
const accountedServices = `admin: {listen: "127.0.0.1:0"}
ledger: {file: %s%s}
services:
  store: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}}
  site: {type: http, listen: "127.0.0.1:0", origins: ["http://127.0.0.1:1"]}
`

// TestLedger runs the commands of the pages about the ledger, over a reload and a restart.
func TestLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	r := run(t, fmt.Sprintf(accountedServices, file, ", prices: {read: 2, write: 10, currency: EUR}"))
	r.ask("store", "CreateTable", createT)
	r.ask("store", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"},"v":{"S":"`+strings.Repeat("x", 2000)+`"}}}`)
	for range 4 {
		r.ask("store", "GetItem", `{"TableName":"tab","Key":{"id":{"S":"1"}}}`)
		r.ask("store", "GetItem", `{"TableName":"tab","Key":{"id":{"S":"2"}}}`)
	}
	r.settle("store")
	s := r.statement("--by", "service,table,operation")
	if len(s.Rows) != 3 || s.Currency != "EUR" || s.PriceDate != "" {
		t.Fatalf("got %+v", s)
	}
	for _, row := range s.Rows {
		want := map[string]ledger.Row{
			"CreateTable": {Requests: 1},
			"GetItem":     {Requests: 8, Hits: 7, SavedUnits: 3.5}, // PutItem has stored one item
			"PutItem":     {Requests: 1, WriteUnits: 2},
		}[row.Operation]
		if row.Operation == "GetItem" && (row.ReadUnits == 0.5 || row.ReadUnits == 1) { // it may be read strongly
			want.ReadUnits = row.ReadUnits
		}
		if row.Service != "store" || row.Table != "tab" || row.Requests != want.Requests || row.Hits != want.Hits || row.ReadUnits != want.ReadUnits ||
			row.WriteUnits != want.WriteUnits || row.SavedUnits != want.SavedUnits || row.UnusedUnits != 0 {
			t.Errorf("got %+v", row)
		}
	}
	if math.Abs(*s.Total.Spent-(s.Total.ReadUnits*2+2*10)/1e6) > 1e-12 || *s.Total.Saved != 3.5*2/1e6 {
		t.Errorf("spent %v, saved %v", *s.Total.Spent, *s.Total.Saved)
	}
	for _, page := range []string{"observability.md", "cli.md"} {
		for line := range strings.Lines(pages(t)[page]) {
			if args, ok := strings.CutPrefix(line, "    kasoku ledger"); ok && !strings.HasPrefix(args, " ...") {
				args, _, _ = strings.Cut(args, "  ") // a comment
				r.ledger(words(t, args)...)
			}
		}
	}
	if text := r.page("/api/v1/report"); !strings.Contains(text, "\nledger of the last 24 hours\nSERVICE  TABLE  REQUESTS") || !strings.Contains(text, "\n(total)") {
		t.Errorf("got the report\n%s", text)
	}

	r.mustReload(fmt.Sprintf(accountedServices, file, ""))
	if s := r.statement(); s.Currency != "" || s.Total.Spent != nil || s.Total.Requests != 10 {
		t.Errorf("without prices: got %+v", s)
	}
	r.mustReload(fmt.Sprintf(accountedServices, file+"2", ""))
	if pending := r.configStatus().Pending; len(pending) != 1 || pending[0] != "ledger.file" {
		t.Errorf("pending: %q", pending)
	}
	r.stop()
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), `"table":"tab"`) {
		t.Errorf("the file has %q, %v", data, err)
	}
	again := run(t, fmt.Sprintf(accountedServices, file, ""))
	if s := again.statement(); s.Total.Requests != 10 || s.Total.WriteUnits != 2 {
		t.Errorf("after a restart: got %+v", s)
	}
}

// statement returns the ledger as kasoku ledger prints it.
func (r *running) statement(args ...string) (s ledger.Statement) {
	r.t.Helper()
	out := r.ledger(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		r.t.Fatalf("got %s", out)
	}
	return s
}

func (r *running) ledger(args ...string) string {
	r.t.Helper()
	code, out, errs := command(r.t, append(append([]string{"ledger"}, args...), "--admin", "http://"+r.AdminAddr().String()))
	if code != codeOK || out == "" {
		r.t.Fatalf("kasoku ledger %q: exit code %d: %s", args, code, errs)
	}
	return out
}

func TestLedgerMistakes(t *testing.T) {
	r := run(t, head+"  store: {type: dynamodb, listen: \"127.0.0.1:0\", origin: \"embedded:memory\", auth: {mode: none}}\n")
	for _, tc := range []struct {
		code int
		args string
		want string
	}{
		{codeInput, "", "there is no ledger: add ledger: {} to the configuration"},
		{codeUsage, "--since 31d", "--since must be a time of at most 30d"},
		{codeUsage, "--since=-1h", "--since must be a time of at most 30d"},
		{codeUsage, "--since week", "week"},
		{codeUsage, "--by tables", `"tables" is none of hour, service`},
	} {
		args := append([]string{"ledger"}, strings.Fields(tc.args)...)
		code, _, errs := command(t, append(args, "--admin", "http://"+r.AdminAddr().String()))
		if code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: got %d %s", tc.args, code, errs)
		}
	}
}
