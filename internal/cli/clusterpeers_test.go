package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// countingOrigin returns the URL of an origin, and the number of reads of the table items there.
func countingOrigin(t *testing.T) (address string, reads *atomic.Int32) {
	t.Helper()
	target, err := url.Parse(embeddedOrigin(t))
	if err != nil {
		t.Fatal(err)
	}
	reads = new(atomic.Int32)
	proxy := httputil.NewSingleHostReverseProxy(target)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		op := r.Header.Get("X-Amz-Target")
		if ofItems := bytes.Contains(body, []byte(`"items"`)); ofItems && (strings.HasSuffix(op, "GetItem") || strings.HasSuffix(op, ".Query")) {
			reads.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(origin.Close)
	return origin.URL, reads
}

// createItems creates the table items.
func createItems(t *testing.T, n *Node) {
	t.Helper()
	const table = `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` +
		`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`
	if status, answer, _ := ask(t, n, "CreateTable", table); status != 200 {
		t.Fatal(answer)
	}
}

// TestFillsOfCluster reads items through three nodes, and queries them. The origin is asked once
// for all of them. As a node asks the origin all the same if the owner of a key does not reply
// within 150 ms, which may happen on a machine under load, several items are tried.
func TestFillsOfCluster(t *testing.T) {
	origin, reads := countingOrigin(t)
	a := inCluster(t, origin, "a")
	b := inCluster(t, origin, "b", a.member.transport.Addr().String())
	c := inCluster(t, origin, "c", a.member.transport.Addr().String())
	nodes := []*Node{a, b, c}
	serving(t, nodes...)
	createItems(t, a)
	for _, f := range []struct{ operation, body, want string }{
		{"GetItem", `{"TableName":"items","Key":{"id":{"S":"%d"}}}`, `{}`},
		{"BatchGetItem", `{"RequestItems":{"items":{"Keys":[{"id":{"S":"batch%d"}}]}}}`, `"items":[]`},
		{"Query", `{"TableName":"items","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"%d"}}}`, `"Count":0`},
	} {
		shared := false
		// A node may have no lease for a while on a machine that runs other tests.
		for i, began := 0, time.Now(); !shared && time.Since(began) < 20*time.Second; i++ {
			before := reads.Load()
			for _, n := range nodes {
				status, answer, _ := ask(t, n, f.operation, fmt.Sprintf(f.body, i))
				if status != 200 || !strings.Contains(answer, f.want) {
					t.Fatalf("%s: got %d %s", f.operation, status, answer)
				}
			}
			shared = reads.Load() == before+1
		}
		if !shared {
			t.Errorf("%s: each node asks the origin", f.operation)
		}
	}
}

// TestWarmingOfCluster starts a third node. It takes over what the other ones have, so that it has
// hits for the requests that they have answered.
func TestWarmingOfCluster(t *testing.T) {
	origin, reads := countingOrigin(t)
	a := inCluster(t, origin, "a")
	serving(t, a) // before the other one: otherwise nothing is cached for a while
	b := inCluster(t, origin, "b", a.member.transport.Addr().String())
	serving(t, a, b)
	createItems(t, a)
	requests := map[string]string{
		"GetItem": `{"TableName":"items","Key":{"id":{"S":"%d"}}}`,
		"Query":   `{"TableName":"items","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"%d"}}}`,
	}
	const keys = 50
	read := func(n *Node, hits bool) {
		t.Helper()
		for operation, body := range requests {
			for i := range keys {
				status, answer, cacheStatus := ask(t, n, operation, fmt.Sprintf(body, i))
				if status != 200 || hits && !strings.Contains(cacheStatus, "; hit") {
					t.Fatalf("%s %d: %d %s, %s", operation, i, status, answer, cacheStatus)
				}
			}
		}
	}
	read(a, false)
	read(b, false)
	before := reads.Load()
	c := inCluster(t, origin, "c", a.member.transport.Addr().String())
	serving(t, a, b, c)
	await.Until(t, func() bool { return c.member.Status().Warming == nil })
	read(c, true)
	if got := reads.Load() - before; got != 0 {
		t.Errorf("the origin was asked %d times", got)
	}
	code, out, errs := command(t, []string{"warm", "orders", "--peer", "a", "--admin", "http://" + c.AdminAddr().String()})
	if want := fmt.Sprintf("orders: 0 filled, %d already there, 0 not cacheable, 0 failed\n", 2*keys); code != codeOK || out != want {
		t.Errorf("%d %q %q; want %q", code, out, errs, want)
	}
	code, _, errs = command(t, []string{"warm", "orders", "--peer", "x", "--admin", "http://" + c.AdminAddr().String()})
	if code != codeInput || !strings.Contains(errs, "there is no other member of that name: x") {
		t.Errorf("%d %q", code, errs)
	}
}
