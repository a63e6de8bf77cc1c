package httpcache

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// An origin's interim answer reaches the client that waits for it, and is not cached.
func TestEarlyHints(t *testing.T) {
	var asked atomic.Int64
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			asked.Add(1)
		}
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprint(w, "hello")
	}))
	defer origin.Close()
	node := harness.Start(t, harness.Options{Type: "http", Origin: origin.URL})
	for n, want := range []string{"103 </style.css>; rel=preload, 200 hello", "200 hello"} {
		if got := fetch(t, node.URL+"/page"); got != want {
			t.Errorf("answer %d: %s; want %s", n+1, got, want)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d requests at the origin", n)
	}
}

// fetch returns a description of the answers: interim ones with their Link, then the final
// one with its body, and its Link if it has one.
func fetch(t *testing.T, url string) (answers string) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			answers += fmt.Sprintf("%d %s, ", code, h.Get("Link"))
			return nil
		},
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answers + fmt.Sprintf("%d %s%s", resp.StatusCode, body, resp.Header.Get("Link"))
}
