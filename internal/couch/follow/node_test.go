package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// node is a CouchDB with one database, in memory, with configurable faults.
type node struct {
	mu      sync.Mutex
	born    int // 0 while there is no database
	births  int
	revs    map[string][]string // by id; the last one is shown
	rows    []string            // "id rev"
	changed chan struct{}
	cut     chan struct{} // closed to end all feeds

	down                 bool // connections are refused
	silent               bool // feeds are silent
	unauthorized         bool // every request is answered with 401
	failsOtherRequests   bool // requests other than feeds are answered with 500
	ignoresOtherRequests bool // requests other than feeds are not answered
	refusesPositions     bool // positions are refused, except by feeds
	asked                []string
}

func newNode() *node {
	n := &node{changed: make(chan struct{}), cut: make(chan struct{})}
	n.create()
	return n
}

var errDown = errors.New("connection refused")

// create creates the database, or recreates it.
func (n *node) create() {
	n.change(func() {
		n.births++
		n.born, n.revs, n.rows = n.births, map[string][]string{}, nil
	})
}

func (n *node) remove() { n.change(func() { n.born, n.revs, n.rows = 0, nil, nil }) }

func (n *node) kill() { n.change(func() { n.down = true }) }

func (n *node) restart() { n.change(func() { n.down = false }) }

// change changes the node and ends its feeds.
func (n *node) change(what func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what()
	close(n.cut)
	n.cut = make(chan struct{})
}

// set changes how the node behaves from now on.
func (n *node) set(what func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what()
}

// put stores a revision, like a client or a replicator.
func (n *node) put(id, rev string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.revs[id], rev) {
		return
	}
	n.revs[id] = append(n.revs[id], rev)
	n.rows = append(n.rows, id+" "+rev)
	close(n.changed)
	n.changed = make(chan struct{})
}

// putSilently stores revisions that no feed announces.
func (n *node) putSilently(id string, revs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.revs[id] = append(n.revs[id], revs...)
}

// winner returns the winning revision of a document.
func (n *node) winner(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if list := n.revs[id]; len(list) > 0 {
		return list[len(list)-1]
	}
	return "none"
}

// requests returns the requests since the last call, except for feeds.
func (n *node) requests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked
	n.asked = nil
	return asked
}

func text(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

func row(seq int, line string) string {
	id, rev, _ := strings.Cut(line, " ")
	return fmt.Sprintf(`{"seq":"%d-x","id":%q,"changes":[{"rev":%q}]}`, seq, id, rev)
}

func results(rows []string, last int) string {
	return fmt.Sprintf("{\"results\":[\n%s\n],\n\"last_seq\":\"%d-x\",\"pending\":0}\n", strings.Join(rows, ",\r\n"), last)
}

// since returns the rows after a position as text, and the last position. A document has one row,
// the last.
func (n *node) since(seq int) (rows []string, last int, changed, cut chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows, last = n.after(seq)
	return rows, last, n.changed, n.cut
}

// after is since with n.mu held.
func (n *node) after(seq int) (rows []string, last int) {
	latest := map[string]int{}
	for i := seq; i < len(n.rows); i++ {
		id, _, _ := strings.Cut(n.rows[i], " ")
		latest[id] = i
	}
	for i := seq; i < len(n.rows); i++ {
		if id, _, _ := strings.Cut(n.rows[i], " "); latest[id] == i {
			rows = append(rows, row(i+1, n.rows[i]))
		}
	}
	return rows, len(n.rows)
}

// get answers the requests of a follower.
func (n *node) get(ctx context.Context, target string) (int, io.ReadCloser, error) {
	u, err := url.Parse(target)
	if err != nil {
		return 0, nil, err
	}
	n.mu.Lock()
	down, denies, born, births, last := n.down, n.unauthorized, n.born, n.births, len(n.rows)
	n.mu.Unlock()
	switch {
	case down:
		return 0, nil, errDown
	case denies:
		return 401, text(`{"error":"unauthorized"}`), nil
	case born == 0:
		return 404, text(`{"error":"not_found"}`), nil
	case u.Path == "/db":
		return 200, text(fmt.Sprintf(`{"instance_start_time":"%d","update_seq":"%d-x"}`, births, last)), nil
	}
	q := u.Query()
	since, err := strconv.Atoi(strings.TrimSuffix(q.Get("since"), "-x"))
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", target, err)
	}
	if q.Get("feed") == "normal" {
		rows, last, _, _ := n.since(since)
		return 200, text(results(rows, max(last, since))), nil
	}
	return n.feed(ctx, since)
}

// feed starts a continuous feed.
func (n *node) feed(ctx context.Context, since int) (int, io.ReadCloser, error) {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	_, _, _, cut := n.since(since)
	go func() {
		defer stop()
		n.serve(ctx, w, since, cut)
		w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return 200, r, nil
}

func (n *node) serve(ctx context.Context, w io.Writer, since int, cut chan struct{}) {
	ticker := newTicker()
	defer ticker.Stop()
	io.WriteString(w, "\n")
	for {
		rows, last, changed, _ := n.since(since)
		if n.quiet() {
			rows, last = nil, since
		}
		for _, row := range rows {
			io.WriteString(w, row+"\n")
		}
		since = max(last, since)
		select {
		case <-changed:
		case <-ticker.C:
			if !n.quiet() {
				io.WriteString(w, "\n")
			}
		case <-cut:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (n *node) quiet() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent
}

// do answers all other requests.
func (n *node) do(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	n.mu.Lock()
	stalls := n.ignoresOtherRequests
	n.asked = append(n.asked, method+" "+path)
	n.mu.Unlock()
	if stalls {
		<-ctx.Done()
		return 0, nil, ctx.Err()
	}
	return n.answer(method, path, body)
}

func (n *node) answer(method, path string, body []byte) (int, []byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.down:
		return 0, nil, errDown
	case n.failsOtherRequests:
		return 500, nil, nil
	case n.born == 0:
		return 404, []byte(`{"error":"not_found"}`), nil
	case path == "/db/_revs_diff":
		return n.diff(body)
	}
	return n.list(path)
}

// list answers _changes without a feed. n.mu is held.
func (n *node) list(path string) (int, []byte, error) {
	u, err := url.Parse(path)
	if err != nil {
		return 0, nil, err
	}
	q := u.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		return 0, nil, err
	}
	if q.Get("descending") == "true" {
		return 200, []byte(results(n.newest(limit), len(n.rows))), nil
	}
	since, err := strconv.Atoi(strings.TrimSuffix(q.Get("since"), "-x"))
	if err != nil || n.refusesPositions {
		return 400, []byte(`{"error":"bad_request"}`), nil
	}
	rows, last := n.after(since)
	return 200, []byte(results(rows[:min(limit, len(rows))], last)), nil
}

// newest returns the newest rows. n.mu is held.
func (n *node) newest(limit int) (rows []string) {
	seen := map[string]bool{}
	for i := len(n.rows) - 1; i >= 0 && len(rows) < limit; i-- {
		if id, _, _ := strings.Cut(n.rows[i], " "); !seen[id] {
			seen[id] = true
			rows = append(rows, row(i+1, n.rows[i]))
		}
	}
	return rows
}

// diff answers _revs_diff. n.mu is held.
func (n *node) diff(body []byte) (int, []byte, error) {
	var ask map[string][]string
	if err := json.Unmarshal(body, &ask); err != nil {
		return 400, nil, nil
	}
	lacks := map[string]map[string][]string{}
	for id, revs := range ask {
		for _, rev := range revs {
			if !slices.Contains(n.revs[id], rev) {
				lacks[id] = map[string][]string{"missing": append(lacks[id]["missing"], rev)}
			}
		}
	}
	answer, err := json.Marshal(lacks)
	return 200, answer, err
}
