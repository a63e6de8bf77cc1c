package cli

import (
	"log/slog"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
)

// TestFitDescriptors checks that bounds are lowered by the same share, and by no more than
// necessary.
func TestFitDescriptors(t *testing.T) {
	const file = `
services:
  site: {type: http, listen: "127.0.0.1:1", origins: ["http://127.0.0.1:9"], limits: {connections: 1000}}
  orders: {type: dynamodb, listen: "127.0.0.1:2", origin: "http://127.0.0.1:9", region: local, auth: {mode: none}, limits: {connections: 2000}, dax: {listen: "127.0.0.1:3", limits: {connections: 2000}}}
  own: {type: dynamodb, listen: "127.0.0.1:4", origin: "embedded:./data", auth: {mode: none}, limits: {connections: 500}}
`
	f := func(limit uint64, site, orders, dax, own int) {
		t.Helper()
		cfg, err := config.Parse("kasoku.yaml", []byte(file), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		fitDescriptors(cfg, limit, slog.New(slog.DiscardHandler))
		for _, b := range []struct {
			name      string
			got, want int
		}{
			{"site", cfg.Service("site").Limits.Connections, site},
			{"orders", cfg.Service("orders").Limits.Connections, orders},
			{"dax", cfg.Service("orders").DynamoDB.DAX.Limits.Connections, dax},
			{"own", cfg.Service("own").Limits.Connections, own},
			{"admin", cfg.Admin.Limits.Connections, 64},
		} {
			if b.got != b.want {
				t.Errorf("%d files: %s: got %d connections, want %d", limit, b.name, b.got, b.want)
			}
		}
		if used := descriptors(cfg, limit, fullShare); used > limit && site > minConnections {
			t.Errorf("%d files: the bounds need up to %d", limit, used)
		}
	}
	// The process and its administrator 128, services 3 * 48, connections 1000 * 2 of type
	// http, 4000 and at most 1024 at the origin of orders, 500 and 576 for the store.
	const all = 128 + 3*48 + 2000 + 5024 + 500 + 576
	f(all, 1000, 2000, 2000, 500)
	f(1<<20, 1000, 2000, 2000, 500)
	f(all-3250, 500, 1000, 1000, 250)
	f(64, 8, 8, 8, 8)
	f(0, 8, 8, 8, 8)
}
