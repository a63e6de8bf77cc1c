package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// change is the newest state of a document on a node.
type change struct {
	seq int
	id  string
	rev int
}

func (c change) text(position func(int) string) string {
	return fmt.Sprintf(`{"seq":%s,"id":%q,"changes":[{"rev":"%d-x"}]}`, position(c.seq), c.id, c.rev)
}

// node is a CouchDB with one database, in memory, with configurable faults.
type node struct {
	mu      sync.Mutex
	born    int // 0 while there is no database
	births  int
	seq     int
	docs    map[string]change
	replace bool          // the database is replaced during the request for its feed
	design  string        // the revision of the design document
	numbers bool          // positions are numbers, as with CouchDB 1
	changed chan struct{} // closed with each change
	cut     chan struct{} // closed to break all feeds off
	gone    chan struct{} // closed to end all feeds in order

	down        bool
	unreachable int           // the number under which the node can't be reached
	rewind      int           // how many positions each new feed repeats
	duplicate   bool          // rows are sent twice
	hold        chan struct{} // pages wait until it is closed, if it isn't nil
	holdInfo    chan struct{} // so does the answer about the database
	holdDesign  chan struct{} // so does the answer about the design document
	refuse      int
	asked       []string
	open        map[string]int // continuous feeds, by their parameters
	maxOpen     int            // maximum of open
	authors     []string       // the credentials received
}

func newNode() *node {
	n := &node{open: map[string]int{}, changed: make(chan struct{}), cut: make(chan struct{}), gone: make(chan struct{}), design: `"1-d"`}
	n.create()
	return n
}

func (n *node) create() {
	n.births++
	n.born, n.seq, n.docs = n.births, 0, map[string]change{}
}

// set changes how the node behaves.
func (n *node) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// breakOff cuts all feeds.
func (n *node) breakOff() {
	n.set(func() {
		close(n.cut)
		n.cut = make(chan struct{})
	})
}

// drop deletes the database, which ends its feeds, and creates another if again is true.
func (n *node) drop(again bool) {
	n.set(func() {
		n.born = 0
		close(n.gone)
		n.gone = make(chan struct{})
		if again {
			n.create()
		}
	})
}

func (n *node) put(id string) {
	n.set(func() {
		n.seq++
		n.docs[id] = change{n.seq, id, n.docs[id].rev + 1}
		close(n.changed)
		n.changed = make(chan struct{})
	})
}

func (n *node) token(seq int) string { return fmt.Sprintf("%d-%d", seq, n.born) }

// position returns a position as JSON.
func (n *node) written(seq int) string {
	if n.numbers {
		return strconv.Itoa(seq)
	}
	return strconv.Quote(n.token(seq))
}

// parseToken parses a token: those of other databases replay everything.
func (n *node) parseToken(token string) (int, bool) {
	if token == "0" {
		return 0, true
	}
	if n.numbers {
		at, err := strconv.Atoi(token)
		return at, err == nil
	}
	seq, born, ok := strings.Cut(token, "-")
	at, err := strconv.Atoi(seq)
	if !ok || err != nil {
		return 0, false
	}
	if born != strconv.Itoa(n.born) {
		at = 0
	}
	return at, true
}

// after returns the changes after a position of documents whose IDs have the prefix only.
func (n *node) after(at int, only string) (rows []change) {
	for _, c := range n.docs {
		if c.seq > at && strings.HasPrefix(c.id, only) {
			rows = append(rows, c)
		}
	}
	slices.SortFunc(rows, func(a, b change) int { return a.seq - b.seq })
	return rows
}

// requests returns the requests since the last call.
func (n *node) requests() (asked []string) {
	n.set(func() { asked, n.asked = n.asked, nil })
	return asked
}

func answered(status int, text string, header ...string) (*Answer, error) {
	return &Answer{Status: status, Header: http1.FieldsOf(header...), Body: io.NopCloser(strings.NewReader(text))}, nil
}

func (n *node) ask(ctx context.Context, r *Request) (*Answer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, r.Method+" "+r.Target)
	n.authors = append(n.authors, string(r.Header.Get("Authorization")))
	u, err := url.Parse(r.Target)
	q := u.Query()
	switch {
	case err != nil:
		return nil, err
	case n.down, r.Node == n.unreachable:
		return nil, errors.New("connection refused")
	case n.born == 0:
		return answered(404, `{"error":"not_found"}`)
	case u.Path == "/d b":
		return n.later(ctx, n.holdInfo, fmt.Sprintf(`{"instance_start_time":"%d","update_seq":%s}`, n.born, n.written(n.seq)))
	case u.Path == "/d b/_design/f":
		if hold := n.holdDesign; hold != nil {
			n.mu.Unlock()
			_, err := waiting{ctx, hold}.Read(nil)
			n.mu.Lock()
			if err != io.EOF {
				return nil, err
			}
		}
		return answered(200, "", "ETag", n.design)
	case n.refuse != 0:
		return answered(n.refuse, "no")
	}
	at, ok := n.parseToken(q.Get("since"))
	if !ok {
		return answered(400, `{"error":"bad_request"}`)
	}
	if q.Get("feed") == "normal" {
		return n.page(ctx, q, at)
	}
	if n.replace {
		n.replace = false
		n.create()
	}
	shape := q.Get("only") + "|" + q.Get("filter")
	n.open[shape]++
	n.maxOpen = max(n.maxOpen, n.open[shape])
	pr, pw := io.Pipe()
	go n.continuous(ctx, pw, q, max(at-n.rewind, 0), n.cut, n.gone)
	return &Answer{Status: 200, Header: http1.FieldsOf("Server", "CouchDB/3.5.0", "Content-Length", "7"), Body: &live{pr, sync.OnceFunc(func() {
		pr.Close()
		n.set(func() { n.open[shape]-- })
	})}}, nil
}

// live is the body of a feed.
type live struct {
	*io.PipeReader
	close func()
}

func (l *live) Close() error { l.close(); return nil }

func (n *node) page(ctx context.Context, q url.Values, at int) (*Answer, error) {
	limit, _ := strconv.Atoi(q.Get("limit"))
	rows := n.after(at, q.Get("only"))
	last, left := n.seq, 0
	if len(rows) >= limit {
		left = len(rows) - limit
		rows = rows[:limit]
		last = rows[limit-1].seq
	}
	var b bytes.Buffer
	b.WriteString("{\"results\":[\n")
	for i, c := range rows {
		if i > 0 {
			b.WriteString(",\r\n")
		}
		b.WriteString(c.text(n.written))
	}
	fmt.Fprintf(&b, "\n],\n\"last_seq\":%s,\"pending\":%d}\n", n.written(last), left)
	return n.later(ctx, n.hold, b.String())
}

// later sends text when a channel is closed, or at once without one.
func (n *node) later(ctx context.Context, when <-chan struct{}, text string) (*Answer, error) {
	a, err := answered(200, text)
	if when != nil {
		a.Body = io.NopCloser(io.MultiReader(waiting{ctx, when}, a.Body))
	}
	return a, err
}

// waiting is a reader that blocks until end is closed.
type waiting struct {
	ctx context.Context
	end <-chan struct{}
}

func (w waiting) Read([]byte) (int, error) {
	select {
	case <-w.end:
		return 0, io.EOF
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	}
}

func (n *node) continuous(ctx context.Context, w *io.PipeWriter, q url.Values, at int, cut, gone <-chan struct{}) {
	beat, _ := strconv.Atoi(q.Get("heartbeat"))
	ticker := time.NewTicker(time.Duration(beat) * time.Millisecond)
	defer ticker.Stop()
	defer w.CloseWithError(io.ErrUnexpectedEOF) // has no effect after another Close
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	defer stop()
	for {
		var text strings.Builder
		var changed <-chan struct{}
		n.set(func() {
			for _, c := range n.after(at, q.Get("only")) {
				text.WriteString(c.text(n.written) + "\n")
				if n.duplicate {
					text.WriteString(c.text(n.written) + "\n")
				}
			}
			at, changed = n.seq, n.changed
		})
		io.WriteString(w, text.String())
		select {
		case <-changed:
		case <-ticker.C:
			io.WriteString(w, "\n")
		case <-cut:
			w.CloseWithError(io.ErrUnexpectedEOF)
			return
		case <-gone:
			var last string
			n.set(func() { last = n.written(at) })
			fmt.Fprintf(w, "{\"last_seq\":%s,\"pending\":0}\n", last)
			w.Close()
			return
		case <-ctx.Done():
			return
		}
	}
}
