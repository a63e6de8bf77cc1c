package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// feedNode is a CouchDB with one database, in memory, with configurable faults.
type feedNode struct {
	mu      sync.Mutex
	born    string // "" while there is no database
	rows    []string
	changed chan struct{}
	cut     chan struct{} // closed to end all feeds

	down          bool // connections are refused
	hold          bool // continuous feeds are delayed, as by a buffering proxy
	refuse        int  // the status of continuous feeds, unless 0
	malformed     bool // positions are refused once
	endsAtOnce    bool // each feed ends at once
	endsInOrder   bool // feeds that are cut end in order
	noHeartbeats  bool // no heartbeats
	asked         []string
	onFeedRequest func() // called once, after a request for a continuous feed and before it is open
}

func newFeedNode() *feedNode {
	return &feedNode{born: `"1"`, changed: make(chan struct{}), cut: make(chan struct{})}
}

var errNodeDown = errors.New("connection refused")

// set changes how the node behaves and ends its feeds if cut is true.
func (n *feedNode) set(cut bool, change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if change != nil {
		change()
	}
	if cut {
		close(n.cut)
		n.cut = make(chan struct{})
	}
}

// hasFault reports whether a fault is enabled.
func (n *feedNode) hasFault(how *bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return *how
}

func (n *feedNode) exists() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.born != ""
}

// put stores a document, or any other text that the feeds then contain.
func (n *feedNode) put(id, rev string) {
	n.write(fmt.Sprintf(`{"seq":"%%d-x","id":%q,"changes":[{"rev":%q}]}`, id, rev))
}

func (n *feedNode) write(row string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows = append(n.rows, row)
	close(n.changed)
	n.changed = make(chan struct{})
}

// after returns the rows after a position as text, and the last position.
func (n *feedNode) after(since int) (rows []string, last int, changed, cut chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := since; i < len(n.rows); i++ {
		rows = append(rows, strings.Replace(n.rows[i], "%d", strconv.Itoa(i+1), 1))
	}
	return rows, len(n.rows), n.changed, n.cut
}

// requests returns the requests since the last call.
func (n *feedNode) requests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked
	n.asked = nil
	return asked
}

func (n *feedNode) get(ctx context.Context, target string) (int, io.ReadCloser, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, target)
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return 0, nil, err
	case n.down:
		return 0, nil, errNodeDown
	case n.born == "":
		return 404, io.NopCloser(strings.NewReader(`{"error":"not_found"}`)), nil
	case u.Path == "/d b/x" && u.EscapedPath() == "/d%20b%2Fx":
		return 200, io.NopCloser(strings.NewReader(fmt.Sprintf(`{"instance_start_time":%s,"update_seq":"%d-x"}`, n.born, len(n.rows)))), nil
	}
	q := u.Query()
	since, err := strconv.Atoi(strings.TrimSuffix(q.Get("since"), "-x"))
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", target, err)
	}
	continuous := q.Get("feed") == "continuous"
	if continuous && n.onFeedRequest != nil {
		n.onFeedRequest()
		n.onFeedRequest = nil
	}
	if n.malformed {
		n.malformed = false
		return 400, io.NopCloser(strings.NewReader(`{"error":"bad_request"}`)), nil
	}
	if continuous && n.refuse != 0 {
		return n.refuse, io.NopCloser(strings.NewReader("no")), nil
	}
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		defer w.CloseWithError(io.ErrUnexpectedEOF) // has no effect after another Close
		n.serve(ctx, w, q, since)
	}()
	return 200, r, nil
}

func (n *feedNode) serve(ctx context.Context, w *io.PipeWriter, q url.Values, since int) {
	switch q.Get("feed") {
	case "continuous":
		n.continuous(ctx, w, q, since)
	case "longpoll":
		timeout, _ := strconv.Atoi(q.Get("timeout"))
		_, _, changed, cut := n.after(since)
		if rows, _, _, _ := n.after(since); len(rows) == 0 && !n.hasFault(&n.endsAtOnce) {
			t := time.NewTimer(time.Duration(timeout) * time.Millisecond)
			defer t.Stop()
			select {
			case <-changed:
			case <-cut:
				w.CloseWithError(io.ErrUnexpectedEOF)
				return
			case <-ctx.Done():
				return
			case <-t.C:
			}
		}
		n.results(w, since)
	default:
		n.results(w, since)
	}
}

func (n *feedNode) results(w *io.PipeWriter, since int) {
	rows, last, _, _ := n.after(since)
	fmt.Fprintf(w, "{\"results\":[\n%s\n],\n\"last_seq\":\"%d-x\",\"pending\":0}\n", strings.Join(rows, ",\r\n"), max(last, since))
	w.Close()
}

func (n *feedNode) continuous(ctx context.Context, w *io.PipeWriter, q url.Values, since int) {
	beat, _ := strconv.Atoi(q.Get("heartbeat"))
	if n.hasFault(&n.hold) {
		<-ctx.Done()
		return
	}
	io.WriteString(w, "\n")
	ticker := time.NewTicker(time.Duration(beat) * time.Millisecond)
	defer ticker.Stop()
	for !n.hasFault(&n.endsAtOnce) {
		rows, last, changed, cut := n.after(since)
		for _, row := range rows {
			io.WriteString(w, row+"\n")
		}
		since = max(last, since)
		select {
		case <-changed:
		case <-ticker.C:
			if !n.hasFault(&n.noHeartbeats) {
				io.WriteString(w, "\n")
			}
		case <-cut:
			if n.exists() && !n.hasFault(&n.endsInOrder) {
				w.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			n.last(w, since)
			return
		case <-ctx.Done():
			return
		}
	}
	n.last(w, since)
}

func (n *feedNode) last(w *io.PipeWriter, since int) {
	fmt.Fprintf(w, "{\"last_seq\":\"%d-x\",\"pending\":0}\n", since)
	w.Close()
}

// recorder records the events of a follower.
type recorder struct {
	mu     sync.Mutex
	events []string
	heard  time.Time
}

func (r *recorder) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, text)
}

func (r *recorder) Reset(why ResetReason) { r.add("reset: " + why.String()) }

func (r *recorder) Row(row *api.Change) {
	text := string(row.ID) + " " + string(row.Rev)
	if row.Deleted {
		text += " deleted"
	}
	r.add(text)
}

func (r *recorder) Heard(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = at
}

// take returns the events since the last call.
func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := strings.Join(r.events, "; ")
	r.events = nil
	return events
}

// silence returns the time since the last call of Heard.
func (r *recorder) silence() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.heard)
}
