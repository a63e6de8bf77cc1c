package memcached

import (
	"net/http"
	"testing"
)

// TestUnixSocket reads from a server that listens on no port.
func TestUnixSocket(t *testing.T) {
	s := StartSocket(t)
	s.Set(t, "k", 0, 0, "v")
	node := before(t, []*Server{s}, append(patient, "locations:", `  - {path: /v, key: "${arg.k}"}`)...)
	if got := mustAsk(t, "GET", node.URL+"/v?k=k"); got.status != http.StatusOK || got.body != "v" {
		t.Errorf("answered with %+v", got)
	}
}
