package cli

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// largeOrigin starts an origin of large bodies.
func largeOrigin(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, strings.Repeat(r.URL.Path, 100_000))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// fetchLarge requests a path of the host "shop" from a service, on any port.
func (r *running) fetchLarge(service, path string) (status string) {
	r.t.Helper()
	q, err := http.NewRequest(http.MethodGet, "http://"+r.ServiceAddr(service).String()+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	q.Host = "shop"
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != strings.Repeat(path, 100_000) {
		r.t.Errorf("%s: %d bytes, %v", path, len(body), err)
	}
	return resp.Header.Get("Cache-Status")
}

// Bodies on disk survive a restart, unless they were purged or their service was removed.
func TestDiskSurvivesRestart(t *testing.T) {
	url, asked := largeOrigin(t)
	dir := filepath.Join(t.TempDir(), "bodies")
	disk := "cache: {disk: {path: " + dir + ", size: 64MiB, threshold: 64KiB}}\n" + head
	site := func(name string) string {
		return "  " + name + ": {type: http, listen: \"127.0.0.1:0\", origins: [\"" + url + "\"]}\n"
	}
	r := run(t, disk+site("site")+site("old"))
	for _, path := range []string{"/a", "/b"} {
		if got := r.fetchLarge("site", path); !strings.Contains(got, "stored") {
			t.Fatalf("%s: %s", path, got)
		}
	}
	r.fetchLarge("old", "/a")

	cfg, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(cfg, r.file, io.Discard, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use by another process: "+dir) {
		t.Errorf("a second node with the same directory: got error %v", err)
	}
	var out, errs strings.Builder
	args := []string{"purge", "--service", "site", "--admin", "http://" + r.AdminAddr().String(), "--url", "http://shop/b"}
	if code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv}); code != 0 {
		t.Fatalf("purge: %d %s", code, errs.String())
	}
	if page := r.page("/api/v1/report"); !strings.Contains(page, "DISK") || !strings.Contains(page, "64.0MiB") {
		t.Errorf("the report has no disk:\n%s", page)
	}
	if page := r.page("/metrics"); !strings.Contains(page, "kasoku_disk_files 2\n") {
		t.Errorf("the metrics have no two files")
	}
	r.mustReload(strings.Replace(disk, "64MiB", "128MiB", 1) + site("site") + site("old"))
	if page := r.page("/api/v1/report"); !strings.Contains(page, "waits for a restart: cache.disk.size") {
		t.Errorf("the report does not mention the restart:\n%s", page)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	before := asked.Load()
	r = run(t, disk+site("site"))
	if got := r.fetchLarge("site", "/a"); !strings.HasPrefix(got, "kasoku; hit") {
		t.Errorf("after the restart: %s", got)
	}
	if got := r.fetchLarge("site", "/b"); !strings.Contains(got, "fwd=uri-miss") || asked.Load() != before+1 {
		t.Errorf("after the purge: %s, %d requests", got, asked.Load()-before)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); !os.IsNotExist(err) {
		t.Errorf("entries of the old service are still there: %v", err)
	}
}
