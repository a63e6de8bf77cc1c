package kasokutest

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
)

// TestReset checks that a fault that closes a connection is an error that SDKs retry.
func TestReset(t *testing.T) {
	store, err := embedded.Open(memory.New(), embedded.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.SetFaults(faults.Plan{Rules: []faults.Rule{{Reset: true}}}); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://store/", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	resp, err := transport{store}.RoundTrip(r)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got error %v", err)
	}
}
