package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/internal/couch/api"
)

// follower is a client that follows the changes of "tweets" like existing ones: it
// reconnects with its last position after any end of its feed.
type follower struct {
	url, form string

	mu       sync.Mutex
	since    string
	revs     map[string]string // the last one received of each document
	broke    int               // feeds that broke off
	unshared string            // the answer to a request that got no shared feed
}

// retryDelay is the time until a client without a feed requests one again.
const retryDelay = 20 * time.Millisecond

func (f *follower) follow(ctx context.Context) {
	pause := time.NewTicker(retryDelay)
	defer pause.Stop()
	for ctx.Err() == nil {
		if f.feed(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// feed reads one feed to its end, and returns false if there was none.
func (f *follower) feed(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, "GET", f.target(), nil)
	if err != nil {
		f.set(func() { f.unshared = err.Error() })
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false
	}
	if how := resp.Header.Get("Cache-Status"); !strings.Contains(how, "collapsed") {
		f.set(func() { f.unshared = resp.Status + " " + how })
	}
	switch f.form {
	case "eventsource":
		err = f.events(resp.Body)
	case "longpoll":
		err = f.rows(api.NewFeedReader(resp.Body, api.NormalFeed))
	default:
		err = f.rows(api.NewFeedReader(resp.Body, api.ContinuousFeed))
	}
	if err != nil && ctx.Err() == nil {
		f.set(func() { f.broke++ })
	}
	return true
}

func (f *follower) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *follower) target() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.url + "/tweets/_changes?heartbeat=1000&feed=" + f.form + "&since=" + url.QueryEscape(f.since)
}

// change is a row of a feed, or its last line.
type change struct {
	Seq     string
	ID      string
	Changes []struct{ Rev string }
	Last    string `json:"last_seq"`
}

// take stores the position and the revision of a row.
func (f *follower) take(text []byte) error {
	var c change
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Last != "" {
		f.since = c.Last
		return nil
	}
	f.since, f.revs[c.ID] = c.Seq, c.Changes[0].Rev
	return nil
}

// rows reads lines or a batch.
func (f *follower) rows(r *api.FeedReader) error {
	for {
		kind, text, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case kind == api.HeartbeatEvent:
			continue
		}
		if err := f.take(text); err != nil {
			return err
		}
	}
}

// events reads server-sent events, whose data includes the position.
func (f *follower) events(body io.Reader) error {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			if err := f.take([]byte("{" + data)); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// has reports whether the follower has received all of revs.
func (f *follower) has(revs map[string]string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, rev := range revs {
		if f.revs[id] != rev {
			return false
		}
	}
	return true
}

// eachForm is the number of clients of feeds of each form.
const eachForm = 4

// TestFeedsThroughFailover checks that clients of all forms lose no change when the node
// whose feed they share is killed while another node has everything, and again when the
// first is back and the other is killed. They share a feed of the living node, with a
// position that is meaningless to it.
func TestFeedsThroughFailover(t *testing.T) {
	a, b := pair(t, 10)
	kasoku := startKasoku(t, []string{a.URL, b.URL})
	n := client(kasoku.URL)
	ctx, cancel := context.WithCancel(t.Context())
	var all []*follower
	var done sync.WaitGroup
	for i := range 3 * eachForm {
		f := &follower{url: n.URL, form: []string{"continuous", "longpoll", "eventsource"}[i%3], since: "0", revs: map[string]string{}}
		all = append(all, f)
		done.Go(func() { f.follow(ctx) })
	}
	want := map[string]string{}
	write := func(when string) {
		t.Helper()
		began := time.Now()
		defer func() {
			t.Logf("all had the changes written %s after %v", when, time.Since(began).Round(time.Millisecond))
		}()
		for i := range 10 {
			id := fmt.Sprint(when, i)
			want[id] = n.Must(t, "PUT", "/tweets/"+id, "{}").Rev(t)
		}
		want["t00003"] = edit(t, n, "t00003", when)
		couch.Await(t, "all clients to have the changes written "+when, func() bool {
			for _, f := range all {
				if !f.has(want) {
					return false
				}
			}
			return true
		})
	}
	kill := func(n *couch.Node) {
		t.Helper()
		couch.Await(t, "both nodes to be equal", func() bool { return maps.Equal(tweets(t, a), tweets(t, b)) })
		n.Kill()
	}
	write("before")
	kill(a)
	write("while-a-is-away")
	for _, f := range all {
		f.set(func() {
			if f.broke == 0 && f.form != "longpoll" { // a client may have been between two polls
				t.Errorf("a feed of form %s did not break off when its node was killed", f.form)
			}
		})
	}
	a.Restart(t)
	couch.Await(t, "both nodes to be in use", func() bool {
		return slices.Equal(samples(t, kasoku, "kasoku_upstream_available", ""), []float64{1, 1})
	})
	write("with-both")
	kill(b)
	write("while-b-is-away")
	cancel()
	done.Wait()
	for _, f := range all {
		if f.unshared != "" {
			t.Errorf("a client with feed %s did not share a feed: %s", f.form, f.unshared)
		}
	}
}

// tweets returns the revisions of a node's documents, by id.
func tweets(t *testing.T, n *couch.Node) map[string]string {
	t.Helper()
	var all struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	if err := json.Unmarshal([]byte(n.Must(t, "GET", "/tweets/_all_docs", "").Body), &all); err != nil {
		t.Fatal(err)
	}
	revs := map[string]string{}
	for _, row := range all.Rows {
		revs[row.ID] = row.Value.Rev
	}
	return revs
}
