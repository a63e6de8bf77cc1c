package dax

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/dax/client"
	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// open is the configuration that accepts every client: package client doesn't sign requests.
const open = "auth: {mode: none}"

// origin is the model with a table, counted, and with faults when wanted.
type origin struct {
	url      string
	faults   fault.Injector
	requests atomic.Int64 // requests that reached it
}

func start(t *testing.T) (*origin, *harness.Node) {
	t.Helper()
	o, db := &origin{}, model.New()
	o.url = harness.Origin(t, o.faults.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.requests.Add(1)
		db.ServeHTTP(w, r)
	})))
	mustCall(t, o.url, "CreateTable", strings.ReplaceAll(simple("s", "id", "S"), "RUN-", ""))
	mustCall(t, o.url, "CreateTable", strings.ReplaceAll(composite("ss", "S", "S"), "RUN-", ""))
	return o, serve(t, o.url, open, "origin_timeout: 500ms")
}

func mustCall(t *testing.T, url, operation, body string) string {
	t.Helper()
	answer, err := harness.MustCall(t.Context(), http.DefaultClient, url, operation, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// app is a client that fails the test on any error.
type app struct {
	t *testing.T
	*client.Conn
}

func connect(t *testing.T, node *harness.Node) app {
	t.Helper()
	c := client.New(node.DAX)
	t.Cleanup(c.Close)
	return app{t, c}
}

// put stores an item.
func (a app) put(key string, item client.Item) {
	a.t.Helper()
	if _, err := a.Put(a.t.Context(), "s", []byte(key), item, false); err != nil {
		a.t.Fatalf("put %s: %v", key, err)
	}
}

// want reads an item and compares it.
func (a app) want(key string, want client.Item) {
	a.t.Helper()
	got, err := a.Get(a.t.Context(), "s", []byte(key), false)
	if err != nil {
		a.t.Fatalf("get %s: %v", key, err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Fatalf("%s is %v, expected %v", key, got, want)
	}
}

// TestRestart kills and restarts a node while a client has numbers of attribute lists: they
// identify the same lists afterwards, even if other lists get numbers first.
func TestRestart(t *testing.T) {
	_, node := start(t)
	a := connect(t, node)
	items := map[string]client.Item{}
	for i := range 20 {
		items[fmt.Sprint(i)] = client.Item{fmt.Sprintf("a%d", i): `{"N":"1"}`, "b": fmt.Sprintf(`{"S":"%d"}`, i)}
	}
	for key, item := range items {
		a.put(key, item)
		a.want(key, item)
	}
	for round := range 2 {
		node.Kill()
		a.Close()
		node.Restart(t)
		other := connect(t, node)
		mine := client.Item{fmt.Sprintf("before%d", round): `{"BOOL":true}`}
		other.put("other", mine)
		other.want("other", mine)
		for key, item := range items {
			a.want(key, item) // by the number it already has
			a.put(key, item)
			other.want(key, item) // by one that it requests now
			other.Forget()
		}
	}
}

// TestClientGone disconnects clients in the middle of a request: incomplete requests are not
// executed, and others are served.
func TestClientGone(t *testing.T) {
	_, node := start(t)
	other := connect(t, node)
	id, err := other.List(t.Context(), []string{"v"})
	if err != nil {
		t.Fatal(err)
	}
	item := cbor.AppendInt(cbor.AppendInt(nil, id), 1)
	args := cbor.AppendBytes(cbor.AppendBytes(nil, []byte("s")), []byte("half"))
	args = cbor.AppendNull(cbor.AppendBytes(args, item))
	const head = 1 + 5 // the service and the method
	for n := range head + len(args) {
		c := client.New(node.DAX)
		if err := c.Partial(t.Context(), client.PutItem, args, n); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	other.want("half", nil)
}

// TestOriginDown makes the origin reject, fail, hang and exit: a client receives the same
// errors as DynamoDB's client, and items in memory and the list of nodes are still served.
func TestOriginDown(t *testing.T) {
	o, node := start(t)
	a := connect(t, node)
	kept := client.Item{"v": `{"N":"1"}`}
	a.put("kept", kept)
	a.want("kept", kept)
	a.want("kept", kept)
	wantError := func(what string, kind fault.Kind, class int64, typ string) {
		t.Helper()
		o.faults.Set(fault.Plan{OneIn: map[fault.Kind]int{kind: 1}, DelayFor: time.Minute})
		defer o.faults.Clear()
		_, err := a.Get(t.Context(), "s", []byte("new "+what), false)
		var reply *client.Error
		if !errors.As(err, &reply) || reply.Codes[0] != class || reply.Type != typ {
			t.Errorf("%s: got %v, expected class %d and %q", what, err, class, typ)
		}
		a.want("kept", kept)
		if _, err := a.Call(t.Context(), client.Endpoints, nil); err != nil {
			t.Errorf("%s: endpoints: %v", what, err)
		}
	}
	wantError("throttled", fault.Throttle, 4, "ProvisionedThroughputExceededException")
	wantError("failing", fault.ErrorBefore, 1, "InternalServerError")
	wantError("unavailable", fault.Unavailable, 1, "InternalServerError")
	wantError("gone", fault.ResetBefore, 1, "ServiceUnavailable")

	// While it hangs, one client waits and others don't.
	release := o.faults.Hold()
	waiting := connect(t, node)
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := waiting.Get(t.Context(), "s", []byte("slow"), false); err == nil {
			t.Error("an origin that hangs has answered")
		}
	})
	a.want("kept", kept)
	done.Wait()
	release()
	a.put("after", kept)
	a.want("after", kept)
}

// TestWalkThrough follows an application: repeated reads aren't sent to the origin, however large
// the items are, and writes are visible at once, in queries too.
func TestWalkThrough(t *testing.T) {
	o, node := start(t)
	a := connect(t, node)
	v1, v2 := client.Item{"v": `{"N":"1"}`}, client.Item{"v": `{"N":"2"}`}
	a.put("x", v1)
	a.want("x", v1)
	requests := o.requests.Load()
	hits := counted(t, node, `kasoku_dax_cache_total{cache="item",result="hit",service="db"}`)
	const each, at = 500, 8
	var load sync.WaitGroup
	for range at {
		c := connect(t, node)
		load.Go(func() {
			for range each {
				got, err := c.Get(t.Context(), "s", []byte("x"), false)
				if err != nil || got["v"] != v1["v"] {
					t.Errorf("%v, %v", got, err)
					return
				}
			}
		})
	}
	load.Wait()
	if more := o.requests.Load() - requests; more != 0 {
		t.Errorf("%d reads of a cached item: got %d requests to the origin, want none", at*each, more)
	}
	await(t, "all hits are counted", func() bool {
		return counted(t, node, `kasoku_dax_cache_total{cache="item",result="hit",service="db"}`)-hits == at*each
	})
	a.put("x", v2)
	a.want("x", v2)
	mustCall(t, node.URL, "PutItem", `{"TableName":"s","Item":{"id":{"S":"x"},"v":{"N":"1"}}}`)
	a.want("x", v1) // the value written by HTTP

	wantPartition := func(want ...string) {
		t.Helper()
		for range 2 {
			entries, err := a.Partition(t.Context(), "ss", "p", "a", false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, string(e.Key)+"="+e.Item["v"])
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Fatalf("the partition has %q, expected %q", got, want)
			}
		}
	}
	put := func(sort, v string) {
		t.Helper()
		if _, err := a.Put(t.Context(), "ss", []byte("aa"+sort), client.Item{"v": v}, false); err != nil {
			t.Fatal(err)
		}
	}
	wantPartition()
	put("1", `{"S":"one"}`)
	wantPartition(`aa1={"S":"one"}`)
	put("2", `{"S":"two"}`)
	put("1", `{"S":"1"}`)
	wantPartition(`aa1={"S":"1"}`, `aa2={"S":"two"}`)
	if _, err := a.Delete(t.Context(), "ss", []byte("aa1"), false); err != nil {
		t.Fatal(err)
	}
	wantPartition(`aa2={"S":"two"}`)
}

// counted reads one of the node's metrics.
func counted(t *testing.T, node *harness.Node, name string) float64 {
	t.Helper()
	text, err := node.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	var value float64
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("no metric %s in:\n%s", name, text)
	return 0
}
