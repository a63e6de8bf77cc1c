package couch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestAnswers checks the answers that the product relies on and that differ in stock
// pouchdb-server.
func TestAnswers(t *testing.T) {
	n := Memory(t)
	n.Must(t, "PUT", "/db", "")
	n.Tweets(t, "db", 20)
	n.Must(t, "PUT", "/db/t00000/raw?rev="+n.rev(t, "/db/t00000"), "0123456789", "Content-Type", "image/png")
	rev := n.rev(t, "/db/t00000")

	f := func(method, path string, want int, tag string, header ...string) Answer {
		t.Helper()
		a := n.Do(t, method, path, "", header...)
		if a.Status != want || a.Header.Get("ETag") != tag {
			t.Errorf("%s %s: %d with ETag %s; want %d with %s", method, path, a.Status, a.Header.Get("ETag"), want, tag)
		}
		if a.Header.Get("X-Couch-Request-ID") == "" {
			t.Errorf("%s %s: no X-Couch-Request-ID", method, path)
		}
		return a
	}
	quoted := `"` + rev + `"`
	f("GET", "/db/t00000", 200, quoted)
	f("HEAD", "/db/t00000", 200, quoted)
	f("GET", "/db/t00000", 304, quoted, "If-None-Match", `"other", W/`+quoted)
	f("GET", "/db/t00000?revs=true", 200, "")
	f("GET", "/db/none", 404, "")
	f("GET", "/db/_all_docs?limit=2", 200, "")
	f("GET", "/db/_design/tweets/_view/by_date?limit=2", 200, "")
	f("GET", "/db/_design/tweets/_list/html/by_date?limit=2", 200, "")
	for _, path := range []string{"/db/_design/tweets/_view/by_date", "/db/_design/tweets/_list/html/by_date"} {
		if a := f("HEAD", path, 200, ""); a.Header.Get("Content-Length") != "0" {
			t.Errorf("HEAD %s: Content-Length %q", path, a.Header.Get("Content-Length"))
		}
	}
	whole := n.Do(t, "GET", "/db/t00000/raw", "").Header.Get("ETag")
	if whole == "" {
		t.Error("an attachment without ETag")
	}
	if a := f("GET", "/db/t00000/raw", 206, whole, "Range", "bytes=2-4"); a.Body != "234" || a.Header.Get("Content-Range") != "bytes 2-4/10" {
		t.Errorf("range: %q, %s", a.Body, a.Header.Get("Content-Range"))
	}
	if a := f("GET", "/_up", 200, ""); !strings.Contains(a.Body, `"ok"`) {
		t.Errorf("_up: %s", a.Body)
	}
	n.Maintain(t, true)
	f("GET", "/_up", 404, "")
	n.Maintain(t, false)
	f("GET", "/_up", 200, "")
}

func (n *Node) rev(t testing.TB, path string) string {
	t.Helper()
	return strings.Trim(n.Must(t, "GET", path, "").Header.Get("ETag"), `"`)
}

// TestDataSet checks the sizes of the data that measurements use.
func TestDataSet(t *testing.T) {
	n := Memory(t)
	n.Must(t, "PUT", "/db", "")
	n.Tweets(t, "db", TweetCount)
	if got := n.Count(t, "db"); got != TweetCount+1 {
		t.Errorf("%d documents", got)
	}
	if len(Tweet(0)) != tweetSize || len(Tweet(TweetCount-1)) != tweetSize {
		t.Errorf("tweets of %d and %d bytes", len(Tweet(0)), len(Tweet(TweetCount-1)))
	}
	a := n.Must(t, "GET", "/db/_design/tweets/_view/by_date?limit=10&descending=true", "")
	if got := strings.Count(a.Body, `"id"`); got != 10 || !strings.Contains(a.Body, `"id":"t04999"`) {
		t.Errorf("the view has %d rows: %s", got, a.Body)
	}
}

// line opens a live feed and returns a function that reads its next line without heartbeats;
// "" at the end of the feed.
func line(t *testing.T, n *Node, path string) func() string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", n.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, resp.Status)
	}
	s := bufio.NewScanner(resp.Body)
	return func() string {
		for s.Scan() {
			if s.Text() != "" {
				return s.Text()
			}
		}
		return ""
	}
}

func TestFeeds(t *testing.T) {
	n := Memory(t)
	n.Must(t, "PUT", "/db", "")
	updates := line(t, n, "/_db_updates?feed=continuous&since=now")
	continuous := line(t, n, "/db/_changes?feed=continuous&since=now&heartbeat=1000")
	events := line(t, n, "/db/_changes?feed=eventsource&since=0&heartbeat=1000")
	poll := line(t, n, "/db/_changes?feed=longpoll&since=0")
	n.Must(t, "PUT", "/db/a", "{}")
	if got := continuous(); !strings.Contains(got, `"id":"a","changes":[{"rev":"1-`) {
		t.Errorf("continuous: %s", got)
	}
	if got := events(); !strings.HasPrefix(got, `data: {"seq":"1-`) {
		t.Errorf("eventsource: %s", got)
	}
	if got := events(); !strings.HasPrefix(got, "id: 1-") {
		t.Errorf("eventsource: %s", got)
	}
	if got := poll(); got != `{"results":[` {
		t.Errorf("longpoll: %s", got)
	}
	n.Must(t, "DELETE", "/db", "")
	if got := continuous(); !strings.HasPrefix(got, `{"last_seq":"1-`) {
		t.Errorf("continuous, deleted: %s", got)
	}
	if got := continuous(); got != "" {
		t.Errorf("continuous, deleted: %s after the end", got)
	}
	var seen string
	for !strings.Contains(seen, `{"db_name":"db","type":"deleted"`) {
		event := updates()
		if event == "" {
			t.Fatalf("_db_updates ended after%s", seen)
		}
		seen += " " + event
	}
	for _, since := range []string{"12", "-1", "abc"} {
		n.Must(t, "PUT", "/db"+since, "")
		if a := n.Do(t, "GET", "/db"+since+"/_changes?since="+since, ""); a.Status != 400 {
			t.Errorf("since=%s: %d", since, a.Status)
		}
	}
}

// TestRecreated checks that a database differs from its successor, and that a node's
// sequences are meaningless elsewhere.
func TestRecreated(t *testing.T) {
	a, b := Disk(t), Memory(t)
	for _, n := range []*Node{a, b} {
		n.Must(t, "PUT", "/db", "")
		n.Must(t, "PUT", "/db/x", "{}")
	}
	born := func() string {
		var info struct {
			Start string `json:"instance_start_time"`
		}
		if err := json.Unmarshal([]byte(a.Must(t, "GET", "/db", "").Body), &info); err != nil {
			t.Fatal(err)
		}
		return info.Start
	}
	last := func(n *Node, since string) (rows int, seq string) {
		var feed struct {
			Results []json.RawMessage
			Last    string `json:"last_seq"`
		}
		if err := json.Unmarshal([]byte(n.Must(t, "GET", "/db/_changes?since="+since, "").Body), &feed); err != nil {
			t.Fatal(err)
		}
		return len(feed.Results), feed.Last
	}
	_, seq := last(a, "0")
	if rows, _ := last(a, seq); rows != 0 {
		t.Errorf("%d rows after the last", rows)
	}
	if rows, _ := last(b, seq); rows != 1 {
		t.Errorf("another node replays %d rows, not 1", rows)
	}
	before := born()
	a.Kill()
	a.Restart(t)
	if after := born(); after != before {
		t.Errorf("created at %s, after a restart at %s", before, after)
	}
	if rows, _ := last(a, seq); rows != 0 {
		t.Errorf("%d rows after the last, after a restart", rows)
	}
	a.Must(t, "DELETE", "/db", "")
	a.Must(t, "PUT", "/db", "")
	if _, seq := last(a, "0"); !strings.HasPrefix(seq, "0-") { // instance_start_time is in seconds, and may be the same
		t.Errorf("the sequence of a database that was created anew is at %s", seq)
	}
}

// TestReplication checks both directions, through a kill of either node.
func TestReplication(t *testing.T) {
	a, b := Disk(t), Disk(t)
	Pair(t, a, b, "db")
	b.AwaitRev(t, "/db/1", a.Must(t, "PUT", "/db/1", `{"n":1}`).Rev(t))
	a.AwaitRev(t, "/db/2", b.Must(t, "PUT", "/db/2", `{"n":2}`).Rev(t))
	b.Kill()
	rev := a.Must(t, "PUT", "/db/3", `{"n":3}`).Rev(t)
	b.Restart(t)
	b.AwaitRev(t, "/db/3", rev)
	a.AwaitRev(t, "/db/4", b.Must(t, "PUT", "/db/4", `{"n":4}`).Rev(t))
}

// TestViewBesideWrites checks that a view includes all writes acknowledged before its request, even
// while the documents are written again.
func TestViewBesideWrites(t *testing.T) {
	const docs, rounds = 20, 15
	n := Memory(t)
	n.Must(t, "PUT", "/db", "")
	n.Must(t, "PUT", "/db/_design/d", `{"views":{"n":{"map":"function(doc) { emit(doc._id, doc.n); }"}}}`)
	var revs [docs]string
	for round := 1; round <= rounds; round++ {
		write := func(i, value int) {
			a := n.Must(t, "PUT", fmt.Sprintf("/db/d%02d", i), fmt.Sprintf(`{"n":%d%s}`, value, revs[i]))
			revs[i] = fmt.Sprintf(`,"_rev":%q`, a.Rev(t))
		}
		for i := range docs {
			write(i, 2*round)
		}
		var again sync.WaitGroup
		for i := range docs {
			again.Go(func() { write(i, 2*round+1) })
		}
		var view struct{ Rows []struct{ Value int } }
		if err := json.Unmarshal([]byte(n.Must(t, "GET", "/db/_design/d/_view/n", "").Body), &view); err != nil {
			t.Fatal(err)
		}
		again.Wait()
		for i, row := range view.Rows {
			if row.Value < 2*round {
				t.Errorf("round %d: the view shows %d of document %d; %d was acknowledged before", round, row.Value, i, 2*round)
			}
		}
		if len(view.Rows) != docs {
			t.Errorf("round %d: the view shows %d documents", round, len(view.Rows))
		}
	}
}
