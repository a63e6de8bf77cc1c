package memcached

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request with the given header: names and values alternate.
func ask(ctx context.Context, client *http.Client, method, url string, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// mustAsk is ask, and fails the test if there is no answer.
func mustAsk(t testing.TB, method, url string, header ...string) answer {
	t.Helper()
	got, err := ask(t.Context(), http.DefaultClient, method, url, header...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// startKasoku starts a Kasoku with a service of type memcached in front of servers.
func startKasoku(t testing.TB, servers []*Server, service ...string) *harness.Node {
	t.Helper()
	return harness.Start(t, harness.Options{Type: "memcached", Origin: strings.Join(Addrs(servers), ", "), Service: service})
}

// longTimeouts are timeouts that a working server does not reach, even on a slow machine.
var longTimeouts = []string{"connect_timeout: 20s", "first_byte_timeout: 30s", "timeout: 30s"}
