package dax

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/dax/client"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

// worker sends one request after the other through a client and counts the outcomes.
type worker struct {
	cluster *client.Cluster
	name    string

	good, refused, written int // requests
	other                  map[string]int
}

// run makes requests until enough were answered after the restart.
func (w *worker) run(t *testing.T, warm func(), restarted <-chan struct{}) {
	const enough = 20
	for afterRestart := 0; afterRestart < enough; {
		answered := w.request(t)
		if w.good == enough {
			warm()
		}
		if !answered {
			<-time.After(5 * time.Millisecond) // lets the node run
			continue
		}
		select {
		case <-restarted:
			afterRestart++
		default:
		}
	}
}

// request reads an item and writes it, in turn, and reports whether it was answered.
func (w *worker) request(t *testing.T) bool {
	write := w.good%2 == 0
	err := w.cluster.Do(func(c *client.Conn) error {
		if write {
			_, err := c.Put(t.Context(), "s", []byte(w.name), client.Item{"v": `{"N":"1"}`}, false)
			return err
		}
		_, err := c.Get(t.Context(), "s", []byte(w.name), false)
		return err
	})
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		w.refused++
	case err != nil:
		w.other[err.Error()]++
	default:
		w.good++
		if write {
			w.written++
		}
	}
	return err == nil
}

// TestTerminate stops the only node by SIGTERM and starts it again, while 20 clients that behave
// like the Go clients send requests. Their only errors are refused connections: no request is cut
// off, and the list of nodes never becomes empty.
func TestTerminate(t *testing.T) {
	db := model.New()
	var writes atomic.Int64
	url := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
			writes.Add(1)
		}
		db.ServeHTTP(w, r)
	}))
	mustCall(t, url, "CreateTable", strings.ReplaceAll(simple("s", "id", "S"), "RUN-", ""))
	node := serve(t, url, open)

	const clients = 20
	var warm, done sync.WaitGroup
	warm.Add(clients)
	restarted := make(chan struct{})
	var workers []*worker
	for i := range clients {
		cluster, err := client.NewCluster(t.Context(), node.DAX, i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		w := &worker{cluster: cluster, name: fmt.Sprint(i), other: map[string]int{}}
		workers = append(workers, w)
		done.Go(func() { w.run(t, sync.OnceFunc(warm.Done), restarted) })
	}
	warm.Wait()
	node.Terminate(t)
	node.Restart(t)
	close(restarted)
	done.Wait()

	var good, refused, written int
	for i, w := range workers {
		good, refused, written = good+w.good, refused+w.refused, written+w.written
		for text, n := range w.other {
			t.Errorf("client %d: %d times: %s", i, n, text)
		}
	}
	t.Logf("%d requests answered, %d connections refused", good, refused)
	if refused == 0 {
		t.Error("no connection was refused: the node was not down")
	}
	if got := writes.Load(); got != int64(written) {
		t.Errorf("got %d acknowledged writes and %d at the origin, want as many", written, got)
	}
}
