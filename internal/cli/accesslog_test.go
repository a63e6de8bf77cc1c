package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/fluent/forwardtest"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// toFluentd returns a configuration that logs to r, with additional keys.
func toFluentd(r *forwardtest.Receiver, more string) string {
	return fmt.Sprintf("access_log: {to: fluentd, fluentd: {servers: [\"tcp://%s\"], flush_interval: 1ms, %s}}\n", r.Address(), more) + head + orders
}

// decisions returns the decisions of the events, in the order of arrival.
func decisions(events []forwardtest.Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Record["decision"].(string))
	}
	return list
}

func TestAccessLogToFluentd(t *testing.T) {
	f := forwardtest.New(t, forwardtest.Options{})
	r := run(t, toFluentd(f, "tag: k.access"))
	r.get("orders")
	r.settle("orders")
	r.get("orders")
	r.settle("orders")
	r.stop()
	events := f.Events()
	if got := decisions(events); !slices.Equal(got, []string{"miss", "hit"}) {
		t.Fatalf("got decisions %v", got)
	}
	for _, e := range events {
		for name, want := range map[string]any{
			"service": "orders", "operation": "GetItem", "table": "t", "status": int64(200), "tls": false, "user_agent": "Go-http-client/1.1",
		} {
			if e.Record[name] != want {
				t.Errorf("%s is %v; want %v", name, e.Record[name], want)
			}
		}
		for _, name := range []string{"request_id", "key", "client"} {
			if text, _ := e.Record[name].(string); text == "" {
				t.Errorf("%s is %v", name, e.Record[name])
			}
		}
		for _, name := range []string{"duration_us", "bytes_in", "bytes_out"} {
			if n, _ := e.Record[name].(int64); n <= 0 {
				t.Errorf("%s is %v", name, e.Record[name])
			}
		}
		if e.Tag != "k.access" || !e.Nano || e.Time.Before(r.started) {
			t.Errorf("event: %s, %v", e.Tag, e.Time)
		}
	}
	if _, ok := events[0].Record["origin_us"].(int64); !ok {
		t.Error("the miss has no origin_us")
	}
	if _, ok := events[1].Record["origin_us"]; ok {
		t.Error("the hit has an origin_us")
	}
}

// TestAccessLogFieldsAndSample: the settings of JSON lines apply to Fluentd's log too.
func TestAccessLogFieldsAndSample(t *testing.T) {
	f := forwardtest.New(t, forwardtest.Options{})
	r := run(t, strings.Replace(toFluentd(f, ""), "{to: fluentd,", "{to: fluentd, fields: [status, time], sample: 1,", 1))
	r.get("orders")
	r.settle("orders")
	r.mustReload(strings.Replace(toFluentd(f, ""), "{to: fluentd,", "{to: fluentd, fields: [status, time], sample: 0,", 1))
	r.get("orders")
	r.settle("orders")
	r.stop()
	events := f.Events()
	if len(events) != 1 || len(events[0].Record) != 1 || events[0].Record["status"] != int64(200) {
		t.Errorf("events: %+v", events)
	}
}

// TestAccessLogWhileFluentdIsAway: while the server is down, records are kept in memory and, over a
// restart, on disk. They arrive when the server is back.
func TestAccessLogWhileFluentdIsAway(t *testing.T) {
	f := forwardtest.New(t, forwardtest.Options{})
	spill := filepath.Join(t.TempDir(), "spill")
	f.Stop()
	r := run(t, toFluentd(f, "spill: "+spill))
	for range 3 {
		r.get("orders")
	}
	r.settle("orders")
	if got := r.page("/metrics"); !strings.Contains(got, "kasoku_access_log_written_total 0\n") {
		t.Error("records are counted as written without a server")
	}
	if got := r.page("/readyz"); !strings.Contains(got, "ready") {
		t.Errorf("readiness without a log server: got %s", got)
	}
	r.stop()
	if files, err := filepath.Glob(filepath.Join(spill, "*.spool")); err != nil || len(files) == 0 {
		t.Fatalf("got no files on disk: %v, %v", files, err)
	}

	r = run(t, toFluentd(f, "spill: "+spill))
	r.get("orders")
	r.settle("orders")
	if got := r.page("/metrics"); !strings.Contains(got, "kasoku_access_log_spilled_records 3\n") {
		t.Error("the gauge does not show the bytes on disk")
	}
	if got := r.page("/api/v1/report"); !strings.Contains(got, "3 on disk (") {
		t.Errorf("the report does not show the bytes on disk: %s", got)
	}
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	f.Wait(t, 4)
	r.stop()
	if got := decisions(f.Events()); len(got) != 4 || !slices.Equal(got[:3], []string{"miss", "hit", "hit"}) {
		t.Errorf("got decisions %v", got)
	}
	if files, err := filepath.Glob(filepath.Join(spill, "*.spool")); err != nil || len(files) != 0 {
		t.Errorf("got files left on disk: %v, %v", files, err)
	}
}

// TestReloadKeepsSpill: a new log takes over the directory of the old one,
// and no record is lost.
func TestReloadKeepsSpill(t *testing.T) {
	f := forwardtest.New(t, forwardtest.Options{})
	f.Stop()
	spill := "spill: " + filepath.Join(t.TempDir(), "spill")
	r := run(t, toFluentd(f, "tag: one, "+spill))
	r.get("orders")
	r.settle("orders")
	for _, tag := range []string{"two", "three"} {
		r.mustReload(toFluentd(f, "tag: "+tag+", "+spill))
		r.get("orders")
		r.settle("orders")
	}
	r.mustReload("access_log: {to: none}\n" + head + orders)
	r.mustReload(toFluentd(f, "tag: four, "+spill))
	r.get("orders")
	r.settle("orders")
	r.retirement.Wait()
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	f.Wait(t, 4)
	r.stop()
	if got := f.Counts(); len(got) != 4 || got["one"]*got["two"]*got["three"]*got["four"] != 1 {
		t.Errorf("records by tag: %v", got)
	}
}

// TestReloadRefusedLeavesLog: a reload that fails for another reason does not change the
// log, and releases its directory.
func TestReloadRefusedLeavesLog(t *testing.T) {
	f := forwardtest.New(t, forwardtest.Options{})
	spill := filepath.Join(t.TempDir(), "spill")
	r := run(t, toFluentd(f, "tag: one"))
	taken := strings.Replace(orders, "orders:", "more:", 1)
	taken = strings.Replace(taken, "127.0.0.1:0", r.AdminAddr().String(), 1)
	if err := r.reload(toFluentd(f, "tag: two, spill: "+spill) + taken); err == nil {
		t.Fatal("a reload with an address in use succeeded")
	}
	r.get("orders")
	r.settle("orders")
	r.mustReload(toFluentd(f, "tag: three, spill: "+spill))
	r.get("orders")
	r.settle("orders")
	r.stop()
	if got := f.Counts(); len(got) != 2 || got["one"] != 1 || got["three"] != 1 {
		t.Errorf("records by tag: %v", got)
	}
}

// TestAccessLogOverTLS: TLS with a certificate on both sides, key and user; no
// page shows the secrets.
func TestAccessLogOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certs.SelfSigned(t, 1)
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key, "password": []byte("pa55word\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	f := forwardtest.New(t, forwardtest.Options{
		TLS:      &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert},
		Security: &forwardtest.Security{SharedKey: "sh4red", Users: map[string]string{"kasoku": "pa55word"}},
	})
	t.Setenv("LOG_KEY", "sh4red")
	text := toFluentd(f, fmt.Sprintf("compression: gzip, balance: round, shared_key_env: LOG_KEY, username: kasoku, password_file: %s/password, "+
		"tls: {ca: %s/cert.pem, cert: %s/cert.pem, key: %s/key.pem}", dir, dir, dir, dir))
	text = strings.Replace(text, "tcp://", "tls://", 1)
	r := run(t, text)
	r.get("orders")
	r.settle("orders")
	before := r.accessLogs.current()
	r.mustReload(text)
	if r.accessLogs.current() != before {
		t.Error("the log was opened again although nothing has changed")
	}
	if err := os.WriteFile(filepath.Join(dir, "cert.pem"), append(cert, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	r.mustReload(text)
	if r.accessLogs.current() == before {
		t.Error("the log still uses the old certificate")
	}
	for _, path := range []string{"/api/v1/config", "/api/v1/report", "/metrics"} {
		page := r.page(path)
		if strings.Contains(page, "sh4red") || strings.Contains(page, "pa55word") {
			t.Errorf("%s shows a secret", path)
		}
	}
	r.stop()
	if f.Total() != 1 || len(f.Errors()) > 0 {
		t.Errorf("got %d events, errors %v", f.Total(), f.Errors())
	}
}
