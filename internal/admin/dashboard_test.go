package admin

import (
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
)

// browse sends a browser's request, and returns its answer with the header.
func browse(t *testing.T, url string) (http.Header, int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header, resp.StatusCode, string(text)
}

// TestDashboard checks that browsers get the page with its policy, and others the list of paths.
func TestDashboard(t *testing.T) {
	o, _ := example()
	base := start(t, o, "")
	h, status, text := browse(t, base+"/")
	if status != 200 || !strings.Contains(text, `content="none"`) || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Vary") != "Accept" {
		t.Errorf("got %d, %v: %s", status, h, text)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": contentPolicy, "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for _, unsafe := range []string{"unsafe", "http:", "https:", "data:", "*"} {
		if strings.Contains(contentPolicy, unsafe) {
			t.Errorf("the policy has %s", unsafe)
		}
	}
	if status, text := send(t, "GET", base+"/", "", nil); status != 200 || !strings.HasPrefix(text, "kasoku\n") {
		t.Errorf("without Accept: %d %s", status, text)
	}
	if status, _ := send(t, "POST", base+"/ui/main.js", "{}", header{"Content-Type": "application/json"}); status != 405 {
		t.Errorf("POST: %d", status)
	}
}

// TestDashboardToken checks that without the token there are the files of the page, which have no
// figures, and nothing else, however the path is spelt.
func TestDashboardToken(t *testing.T) {
	o, _ := example()
	base := start(t, o, "hidden-token")
	for name := range uiFiles() {
		if name == uiPage {
			name = "/"
		}
		_, status, text := browse(t, base+name)
		if status != 200 || text == "" {
			t.Errorf("%s: %d", name, status)
		}
		for _, data := range []string{"orders", "127.0.0.1:8000", "v1.2.3", "hidden-token", "eu-west-1"} {
			if strings.Contains(text, data) {
				t.Errorf("%s has %s", name, data)
			}
		}
		if name == "/" && !strings.Contains(text, `name="kasoku-token" content="required"`) {
			t.Errorf("the page does not require the token: %s", text)
		}
	}
	for _, p := range []string{
		"/api/v1/report", "/api/v1/events", "/api/v1/history?service=orders", "/metrics", "/ui/", "/ui", "/ui/away.js", "/ui/%2e%2e/api/v1/report", "/ui/main.js/../../api/v1/report", "//",
	} {
		if _, status, text := browse(t, base+p); status != 401 {
			t.Errorf("%s: %d %s", p, status, text)
		}
	}
	if status, _ := send(t, "GET", base+"/", "", nil); status != 401 {
		t.Errorf("the list of paths: %d", status)
	}
	if status, _ := send(t, "POST", base+"/", "{}", header{"Accept": "text/html", "Content-Type": "application/json"}); status != 401 {
		t.Errorf("POST: %d", status)
	}
	for _, p := range []string{"/api/v1/events", "/api/v1/history?service=orders"} {
		if status, _ := send(t, "HEAD", base+p, "", header{"Authorization": "Bearer wrong"}); status != 401 {
			t.Errorf("%s with a wrong token: %d", p, status)
		}
	}
}

// maxDashboard is the maximum size of all files of the dashboard.
const maxDashboard = 100_000

// TestDashboardFiles checks the size of the files, and that none has code that the policy forbids or
// the address of another host.
func TestDashboardFiles(t *testing.T) {
	sum := 0
	for name, text := range uiFiles() {
		sum += len(text)
		if uiTypes[path.Ext(name)] == "" {
			t.Errorf("%s has no type", name)
		}
		for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "document.cookie", "localStorage", " style=", "https://", "<script>"} {
			if strings.Contains(string(text), forbidden) {
				t.Errorf("%s has %s", name, forbidden)
			}
		}
	}
	if sum > maxDashboard || sum < maxDashboard/10 {
		t.Errorf("the files have %d bytes", sum)
	}
}
