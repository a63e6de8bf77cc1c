package service

import (
	"bufio"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

// maxDelay is the promised time until a write past Kasoku is seen.
const maxDelay = time.Second

// TestWritePast checks that a write to a node itself is seen from the moment when Kasoku
// counts the row of any node's feed. How long that takes depends on the machine; on an idle
// one, with KASOKU_BLOG=full, the promised time is checked.
func TestWritePast(t *testing.T) {
	tweets := 40
	if full {
		tweets = couch.TweetCount
	}
	a, b := pair(t, tweets)
	kasoku := startKasoku(t, []string{a.URL, b.URL})
	n, nodes := client(kasoku.URL), []*couch.Node{a, b}
	following(t, n)
	var slowest, announced time.Duration
	for i := range 10 {
		id := fmt.Sprintf("t%05d", tweets-1-i%5)
		for _, page := range pages(id) {
			n.Must(t, "GET", page, "")
		}
		first, second := nodes[i%2], nodes[1-i%2]
		// The node must have the last edition, which was written to the other one.
		first.AwaitRev(t, "/tweets/"+id, strings.Trim(n.Must(t, "GET", "/tweets/"+id, "").Header.Get("ETag"), `"`))
		rows := map[*couch.Node]float64{first: rowsOf(t, kasoku, first), second: rowsOf(t, kasoku, second)}
		changed := listen(t, first)
		text := fmt.Sprintf("edition %d of %s", i, id)
		edit(t, first, id, text)
		written := time.Now()
		at, ok := <-changed
		if !ok {
			t.Fatal("the node's own feed has ended")
		}
		announced = max(announced, at.Sub(written))
		for _, node := range []*couch.Node{first, second} {
			couch.Await(t, "the feed of "+node.URL, func() bool { return rowsOf(t, kasoku, node) > rows[node] })
			for _, page := range pages(id) {
				if got := n.Must(t, "GET", page, "").Body; !strings.Contains(got, text) {
					t.Fatalf("edition %d: %s does not show what %s has announced:\n%.600s", i, page, node.URL, got)
				}
			}
			if node == first {
				slowest = max(slowest, time.Since(written))
			}
		}
	}
	t.Logf("the node itself announced a write past Kasoku after %v at most, and all pages showed it after %v", announced.Round(time.Millisecond), slowest.Round(time.Millisecond))
	lags := samples(t, kasoku, "kasoku_couch_feed_lag_seconds", "")
	t.Logf("lags of feeds: %v", lags)
	if len(lags) != 2 {
		t.Errorf("lags of feeds: %v", lags)
	}
	if !full {
		return
	}
	if slowest > maxDelay {
		t.Errorf("all pages showed a write past Kasoku after %v, want at most %v", slowest, maxDelay)
	}
	for _, lag := range lags {
		if lag > maxDelay.Seconds() {
			t.Errorf("lags of feeds: %v", lags)
		}
	}
}

// TestSilentFeeds checks the lag metric of feeds: once it is above max_unfollowed nothing
// older is served, although the feeds are silent.
func TestSilentFeeds(t *testing.T) {
	a, b := pair(t, 40)
	proxies := []*couch.Proxy{couch.NewProxy(t, a), couch.NewProxy(t, b)}
	kasoku := startKasoku(t, []string{proxies[0].URL, proxies[1].URL})
	n := client(kasoku.URL)
	lag := func() (longest float64) {
		for _, lag := range samples(t, kasoku, "kasoku_couch_feed_lag_seconds", "") {
			longest = max(longest, lag)
		}
		return longest
	}
	for i := range 2 {
		following(t, n)
		for _, page := range pages("t00039") {
			n.Must(t, "GET", page, "")
		}
		kept := time.Now()
		for _, proxy := range proxies {
			proxy.Hold(true)
		}
		text := fmt.Sprint("news ", i)
		b.AwaitRev(t, "/tweets/t00039", edit(t, a, "t00039", text))
		// Answers that a node sent within the last second may be served as well.
		couch.Await(t, "the lag to grow", func() bool { return time.Since(kept) > maxDelay && lag() > maxDelay.Seconds() })
		for _, page := range pages("t00039") {
			if got := n.Must(t, "GET", page, ""); !strings.Contains(got.Body, text) {
				t.Errorf("%s is older than the reported lag (%s):\n%.600s", page, got.Header.Get("Cache-Status"), got.Body)
			}
		}
		for _, proxy := range proxies {
			proxy.Hold(false)
		}
		couch.Await(t, "the lag to be over", func() bool { return lag() < maxDelay.Seconds() })
	}
}

// listen follows a node's own feed, and returns a channel with the time of the next change.
func listen(t *testing.T, node *couch.Node) <-chan time.Time {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", node.URL+"/tweets/_changes?feed=continuous&since=now&heartbeat=1000&limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan time.Time, 1)
	go func() {
		defer resp.Body.Close()
		defer close(changed)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), `{"seq"`) {
				changed <- time.Now()
				return
			}
		}
	}()
	return changed
}

// rowsOf returns the number of rows of a node's feeds that Kasoku has counted.
func rowsOf(t *testing.T, kasoku *harness.Node, node *couch.Node) float64 {
	t.Helper()
	list := samples(t, kasoku, "kasoku_couch_changes_total", `node="`+node.URL+`"`)
	if len(list) != 1 {
		t.Fatalf("rows of the feed of %s: %v", node.URL, list)
	}
	return list[0]
}

// samples returns the values of a metric's series with a label, in the order of the page.
func samples(t *testing.T, kasoku *harness.Node, name, label string) (values []float64) {
	t.Helper()
	text, err := kasoku.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(\{[^}]*\})? ([-+.e0-9]+)$`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], label) {
			continue
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}
