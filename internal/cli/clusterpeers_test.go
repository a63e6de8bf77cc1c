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
)

// TestFillsOfCluster reads items through three nodes, and queries them. The origin is asked once
// for all of them. As a node asks the origin all the same if the owner of a key does not reply
// within 20 ms, which may happen on a machine under load, several items are tried.
func TestFillsOfCluster(t *testing.T) {
	target, err := url.Parse(embeddedOrigin(t))
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int32
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
	a := inCluster(t, origin.URL, "a")
	b := inCluster(t, origin.URL, "b", a.member.transport.Addr().String())
	c := inCluster(t, origin.URL, "c", a.member.transport.Addr().String())
	nodes := []*Node{a, b, c}
	serving(t, nodes...)
	const table = `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` +
		`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`
	if status, answer, _ := ask(t, a, "CreateTable", table); status != 200 {
		t.Fatal(answer)
	}
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
