package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/live"
)

// fakeVerifier is a service with fixed figures.
type fakeVerifier struct {
	*fake
	figures Verification
}

func (f *fakeVerifier) Verification() Verification { return f.figures }

func (f *fakeVerifier) Verify(ctx context.Context, r *VerifyRequest, report func(VerifyProgress)) error {
	switch {
	case r.Rate < 0:
		return fmt.Errorf("%w: rate must be positive", ErrInput)
	case r.Rate == 8:
		report(VerifyProgress{})
		<-ctx.Done()
		return ctx.Err()
	case r.Rate == 7:
		return fmt.Errorf("service orders is being verified: %w", ErrBusy)
	}
	report(VerifyProgress{VerifyCounts: VerifyCounts{Equal: 1, Violations: 1}, Violations: []Violation{{Table: "tab"}}, Part: 0.5})
	report(VerifyProgress{VerifyCounts: VerifyCounts{Equal: 2, Violations: 1}, Part: 1})
	if r.Rate == 9 {
		return context.Canceled
	}
	return nil
}

// TestVerifyRoutes checks both routes and the section of the report.
func TestVerifyRoutes(t *testing.T) {
	o, orders := example()
	share := RightAtLeast(12_345)
	v := &fakeVerifier{orders, Verification{
		Service: "orders", ReadUnits: 12_400, VerifyCounts: VerifyCounts{Equal: 12_345, Explained: 3, Skipped: 2}, RightAtLeast: &share,
		Recent: []Violation{{Table: "tab"}},
	}}
	o.Services[0].Service = v
	o.Cluster = exampleCluster()
	base := start(t, o, "")
	f := func(method, path, body string, status int, want string) string {
		t.Helper()
		got, text := send(t, method, base+path, body, nil)
		if got != status || !strings.Contains(text, want) {
			t.Fatalf("%s %s: %d %s; want %d with %s", path, body, got, text, status, want)
		}
		return text
	}
	f("GET", "/api/v1/verify", "", 200, `"equal": 12345`)
	f("GET", "/api/v1/verify?service=orders", "", 200, `"node": "`+o.Cluster.Status().Node+`"`)
	f("GET", "/api/v1/verify?service=users", "", 400, "answers of service users can't be verified")
	f("GET", "/api/v1/verify?service=x", "", 404, "there is no service")
	f("POST", "/api/v1/verify/run", `{"service":"users"}`, 400, "can't be verified")
	f("POST", "/api/v1/verify/run", `{"service":"orders","rate":-1}`, 400, "rate must be positive")
	f("POST", "/api/v1/verify/run", `{"service":"orders","rate":7}`, 409, "another one is in progress")
	lines := strings.Split(strings.TrimSpace(f("POST", "/api/v1/verify/run", `{"service":"orders"}`, 200, "violation_details")), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"table":"tab"`) || !strings.Contains(lines[0], `"node":"`+o.Cluster.Status().Node) ||
		!strings.HasSuffix(lines[2], `"part":1,"done":true}`) {
		t.Errorf("got %q", lines)
	}
	lines = strings.Split(strings.TrimSpace(f("POST", "/api/v1/verify/run", `{"service":"orders","rate":9}`, 200, "part")), "\n")
	if !strings.HasSuffix(lines[2], `"error":"context canceled"}`) {
		t.Errorf("got %q", lines)
	}
	text := string(o.Text())
	const want = "VERIFIED  CHECKED  VIOLATIONS  UNEXPLAINED  EXPLAINED  SKIPPED  READ UNITS  RIGHT%\norders    12345    0           0            3          2        12400.0     > 99.975\n"
	if !strings.Contains(text, want) {
		t.Errorf("got the report\n%s\nwithout\n%s", text, want)
	}
	v.figures.VerifyCounts = VerifyCounts{}
	if text := string(o.Text()); strings.Contains(text, "VERIFIED") {
		t.Errorf("without comparisons: got the report\n%s", text)
	}
}

// TestVerifyEndsWithServer checks that a request in progress does not delay the end of the server.
func TestVerifyEndsWithServer(t *testing.T) {
	o, orders := example()
	o.Services[0].Service = &fakeVerifier{fake: orders}
	s, err := Listen(Config{
		Listen: "127.0.0.1:0", Metrics: telemetry.NewRegistry(), Overview: func() Overview { return *o }, Live: &live.Log{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	resp, err := http.Post("http://"+s.Addr().String()+"/api/v1/verify/run", "application/json", strings.NewReader(`{"service":"orders","rate":8}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(text), `"error":"context canceled"}`+"\n") {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestVerifyResult checks the results in words. The percentages are rounded down.
func TestVerifyResult(t *testing.T) {
	for want, c := range map[string]VerifyCounts{
		"0 answers checked, 0 violations: this proves nothing":                                             {Explained: 4},
		"1 answers checked, 0 violations: at least 5.0 % are right, with a confidence of 95 %":             {Equal: 1},
		"300 answers checked, 0 violations: at least 99.00 % are right, with a confidence of 95 %":         {Equal: 300},
		"29956 answers checked, 0 violations: at least 99.9900 % are right, with a confidence of 95 %":     {Equal: 29_956},
		"3000000 answers checked, 0 violations: at least 99.999900 % are right, with a confidence of 95 %": {Equal: 3_000_000},
		"10 answers checked, 1 violations":                                                                 {Equal: 9, Violations: 1},
	} {
		if got := c.Result(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
