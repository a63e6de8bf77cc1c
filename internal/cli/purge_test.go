package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/purge"
)

// Each kind of selector has a flag of its name, which is sent and must not be empty.
func TestPurgeKinds(t *testing.T) {
	for _, k := range purge.Kinds() {
		var c commands
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		flag := "--" + k.String()
		if _, err := parser.Parse([]string{"purge", "--service", "site", flag, "x"}); err != nil {
			t.Errorf("%s: %v", flag, err)
		} else if got, want := c.Purge.request().Selector, purge.By(k, "x"); got != want {
			t.Errorf("%s x sends %#v; want %#v", flag, got, want)
		}
		if _, err := parser.Parse([]string{"purge", "--service", "site", flag, ""}); err == nil {
			t.Errorf("an empty %s is accepted", flag)
		}
	}
}

// TestPurgeOfCluster purges through a node of a cluster, and through one that is cut off.
func TestPurgeOfCluster(t *testing.T) {
	origin := embeddedOrigin(t)
	a := inCluster(t, origin, "a")
	b := inCluster(t, origin, "b", a.member.transport.Addr().String())
	serving(t, a, b)
	f := func(n *Node, wantCode int, want string) {
		t.Helper()
		code, out, errs := command(t, []string{"purge", "--service", "orders", "--admin", "http://" + n.AdminAddr().String()})
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("%d %q %q; want %d and %q", code, out, errs, wantCode, want)
		}
	}
	f(a, codeOK, "orders: dropped everything of service orders, on a, b\n")
	b.member.transport.Close()
	f(a, codeOK, "orders: dropped everything of service orders, on a\norders: not on b: ")
	f(b, codeInput, "with status 503: only node b has certainly dropped the selection")
}

func TestUnreached(t *testing.T) {
	c := &clusterNode{}
	for _, err := range []error{cache.ErrIsolated, protocol.ErrLost, context.DeadlineExceeded} {
		if !c.Unreached(fmt.Errorf("purge: %w", err)) {
			t.Errorf("%v is an error of this node", err)
		}
	}
	if c.Unreached(admin.ErrInput) {
		t.Error("an invalid request is an error of other nodes")
	}
}
