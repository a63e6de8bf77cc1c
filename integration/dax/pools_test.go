package dax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// reconnecting are the clients that open another connection after a node has closed an idle
// one. The JavaScript clients wait forever for a reply over the closed connection.
var reconnecting = []string{"python", "java"}

// TestRestartUnderPools kills and restarts a node under clients that keep connections to it
// and numbers of attribute lists from it.
func TestRestartUnderPools(t *testing.T) {
	local := harness.DynamoDBLocal(t)
	node := serve(t, local, auth...)
	some := slices.DeleteFunc(drivers(), func(c driver) bool { return !slices.Contains(reconnecting, c.name) })
	var arrived sync.WaitGroup
	arrived.Add(2 * len(some)) // both sides
	restarted := make(chan struct{})
	gate := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		<-restarted
		io.WriteString(w, "restarted")
	}))
	var work []step
	do := func(name, operation, format string, of ...any) {
		work = append(work, step{Step: name, Op: operation, Params: json.RawMessage(fmt.Sprintf(format, of...))})
	}
	for i := range 5 {
		do(fmt.Sprintf("put-%d", i), "PutItem", `{"TableName":"RUN-s","Item":{"id":{"S":"%d"},"a%[1]d":{"N":"%[1]d"},"b":{"S":"x"}}}`, i)
		do(fmt.Sprintf("get-%d", i), "GetItem", `{"TableName":"RUN-s","Key":{"id":{"S":"%d"}}}`, i)
	}
	do("wait", "Wait", `{"URL":%q}`, gate)
	do("put-new", "PutItem", `{"TableName":"RUN-s","Item":{"id":{"S":"new"},"c":{"NULL":true}}}`)
	for i := range 5 {
		do(fmt.Sprintf("get-after-%d", i), "GetItem", `{"TableName":"RUN-s","Key":{"id":{"S":"%d"}}}`, i)
		do(fmt.Sprintf("put-after-%d", i), "PutItem", `{"TableName":"RUN-s","Item":{"id":{"S":"after %d"},"a%[1]d":{"N":"-%[1]d"},"b":{"S":"y"}}}`, i)
	}
	do("scan", "Scan", `{"TableName":"RUN-s"}`)
	input, err := lines(work)
	if err != nil {
		t.Fatal(err)
	}
	run := unique("pool")
	var done sync.WaitGroup
	for _, c := range some {
		for _, side := range []string{"x", "y"} {
			create(t, local, c.name+"-"+run+"-"+side+"-")
		}
		done.Go(func() {
			answers, err := c.run(t, node.DAX, local, run, input)
			if err != nil {
				t.Error(err)
				return
			}
			for _, d := range compare(c.name, work, answers) {
				t.Error(d)
			}
		})
	}
	waiting, ended := make(chan struct{}), make(chan struct{})
	go func() { arrived.Wait(); close(waiting) }()
	go func() { done.Wait(); close(ended) }()
	select {
	case <-waiting:
	case <-ended:
		t.Fatal("the clients ended before the restart")
	}
	node.Kill()
	node.Restart(t)
	close(restarted)
	<-ended
}

// TestClientKilled kills each client in the middle of its work: the node releases everything
// that it holds for the client, and serves the next one.
func TestClientKilled(t *testing.T) {
	node := serve(t, "embedded:./data", open)
	every, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	input, err := lines(every)
	if err != nil {
		t.Fatal(err)
	}
	var killed sync.WaitGroup
	for _, c := range drivers() {
		for _, side := range []string{"x", "y"} {
			create(t, node.URL, c.name+"-killed-"+side+"-")
		}
		killed.Go(func() {
			cmd := c.start(t.Context(), node.DAX, node.URL, c.name+"-killed-x-", c.name+"-killed-y-")
			cmd.Stdin = bytes.NewReader(input)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			if _, err := io.CopyN(io.Discard, out, 10_000); err != nil {
				t.Errorf("%s did not print 10,000 bytes of answers: %v", c.name, err)
			}
			cmd.Process.Kill()
			cmd.Wait() // returns an error because it was killed
		})
	}
	killed.Wait()
	// Their connections end as soon as the node has seen it.
	await(t, "no connection is open", func() bool { return counted(t, node, `kasoku_dax_connections_open{service="db"}`) == 0 })
	if _, err := connect(t, node).Get(t.Context(), "python-killed-x-s", []byte("none"), false); err != nil {
		t.Error(err)
	}
}

// await polls done until it returns true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("not within 30 s: %s", what)
		case <-poll.C:
		}
	}
}
