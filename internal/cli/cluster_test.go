package cli

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
)

const someCluster = `admin: {listen: 127.0.0.1:0}
cluster: {name: shop, node: a, listen: "127.0.0.1:0"}
services:
  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "http://127.0.0.1:1", region: local, auth: {mode: none}}
`

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("k.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A configuration with a cluster must not run without one.
func TestStartWithCluster(t *testing.T) {
	n, err := start(parsed(t, someCluster), "k.yaml", os.Stdout, slog.New(slog.DiscardHandler))
	if err == nil {
		n.Stop(t.Context())
		t.Fatal("it starts without its cluster")
	}
	if want := "cluster shop: node a can't join"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
