package couch

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// node is a CouchDB with a database "db", in memory, behind a real socket.
type node struct {
	t      testing.TB
	server *httptest.Server
	name   string

	mu             sync.Mutex
	born           int // 0: there is no database
	replica        int // counts databases that were created within the second of born
	docs           map[string]document
	rows           []string // "id rev"
	from           int      // the number of rows at Kasoku's first request
	followed       bool     // Kasoku has sent that request
	changed        chan struct{}
	allowed        map[string]bool  // by Authorization or X-Auth-CouchDB-UserName; nil lets all read
	asked          []string         // except feeds and Kasoku's own requests
	status         int              // the status of documents, views and writes; 0 for the regular one
	failing        int              // the number of documents and views that are answered with 503 first
	broken         string           // a body that results have instead, followed by the request's
	exact          string           // a body that results have instead
	securityWrites []string         // the bodies of writes of _security that were accepted
	refuseSecurity int              // the status of writes of _security; 0 to accept them
	unreachable    bool             // connections are cut without an answer
	cutReads       int              // the number of reads whose answers are cut after half of the body
	pauses         chan struct{}    // if set, answers to reads wait for it after half of the body
	users          string           // the revision of its user; "": it lists none, "away": it does not answer
	hold           chan struct{}    // if set, writes and results wait for it before they are answered
	held           chan struct{}    // receives a value when one waits
	dropped        bool             // connections of writes are cut without an answer
	cutBody        bool             // answers to writes end after their head
	deferWrites    bool             // writes are answered, but not executed
	headers        chan http.Header // receives the fields of clients' requests
	silent         bool             // feeds are silent
	delayed        string           // feeds of this user are silent
	cookie         string           // set with each answer to a read
	fields         map[string]string
	byProxy        bool // a proxy answers reads instead of the node
}

type document struct {
	rev  string
	body string
	revs []string
	old  map[string]string // bodies of former revisions, until the database is compacted
}

func newNode(t testing.TB, name string) *node {
	n := &node{t: t, name: name, born: 1, docs: map[string]document{}, changed: make(chan struct{}), fields: map[string]string{}}
	n.server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(func() {
		n.set(func() { n.silent = true })
		n.server.CloseClientConnections()
		n.server.Close()
	})
	return n
}

// set changes how the node behaves.
func (n *node) set(what func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what()
	n.wake()
}

// wake makes feeds look for new rows. mu is held.
func (n *node) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// store writes a document like a client or a replicator, and returns the revision.
func (n *node) store(id, body string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.docs[id]
	rev := fmt.Sprintf("%d-%x", len(old.revs)+1, len(body)*31+int(hashOf([]byte(body))%1000))
	bodies := maps.Clone(old.old)
	if bodies == nil {
		bodies = map[string]string{}
	}
	if old.rev != "" {
		bodies[old.rev] = old.body
	}
	n.putState(id, document{rev, body, append(slices.Clone(old.revs), rev), bodies})
	return rev
}

// compact removes the bodies of former revisions. No feed announces it.
func (n *node) compact() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.docs {
		clear(d.old)
	}
}

// putState stores a document with a given state. mu is held.
func (n *node) putState(id string, d document) {
	n.docs[id] = d
	n.rows = append(n.rows, id+" "+d.rev)
	n.wake()
}

// recreate deletes and creates the database so fast that instance_start_time remains the same. The
// feeds of the former database end.
func (n *node) recreate() {
	n.set(func() {
		n.docs, n.rows = map[string]document{}, nil
		n.replica++
	})
}

func (n *node) replaced() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.replica
}

// replicate replicates a document from another node.
func (n *node) replicate(id string, from *node) {
	from.mu.Lock()
	d := from.docs[id]
	from.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.putState(id, d)
}

// requests returns the requests since the last call.
func (n *node) requests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.asked
	n.asked = nil
	return list
}

// announced returns the number of rows in the feed of the database.
func (n *node) announced() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return uint64(len(n.rows) - n.from)
}

func (n *node) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/db")
	w.Header().Set("X-Node", n.name)
	w.Header().Set("X-Couch-Request-ID", "0123456789")
	switch {
	case r.UserAgent() == "" && path == "/_security" && r.Method == "GET": // Kasoku's own
		answer(w, 200, n.security())
		return
	case r.UserAgent() == "" && r.URL.Path == "/_users/_all_docs": // Kasoku's own
		n.showUsers(w)
		return
	case n.missing():
		panic(http.ErrAbortHandler)
	case r.URL.Path == "/_up":
		io.WriteString(w, `{"status":"ok"}`)
		return
	case path == "/_changes":
		n.changes(w, r)
		return
	case r.UserAgent() == "" && path == "/_revs_diff": // Kasoku's own
		n.diff(w, r)
		return
	case r.UserAgent() == "" && path == "" && r.Method == "GET":
		n.info(w, true)
		return
	case r.UserAgent() == "" && len(path) > 1 && r.Method == "HEAD":
		n.read(w, r, path[1:])
		return
	}
	body, _ := io.ReadAll(r.Body)
	if o := r.Header.Get("X-HTTP-Method-Override"); o != "" {
		if r.Method != "POST" {
			n.t.Errorf("the node received a %s with an override", r.Method)
		}
		r.Method, _, _ = strings.Cut(o, ";")
	}
	n.mu.Lock()
	n.asked = append(n.asked, r.Method+" "+r.URL.RequestURI())
	if n.headers != nil && r.UserAgent() != "" {
		n.headers <- r.Header
	}
	status, born, allowed := n.status, n.born, n.allowed == nil || n.allowed[r.Header.Get("Authorization")+r.Header.Get("X-Auth-CouchDB-UserName")]
	if n.cookie != "" {
		w.Header().Set("Set-Cookie", n.cookie)
	}
	for name, value := range n.fields {
		w.Header().Set(name, value)
	}
	byProxy := n.byProxy
	if n.failing > 0 && r.Method == "GET" {
		n.failing--
		status = 503
	}
	n.mu.Unlock()
	switch {
	case byProxy && r.Method == "GET":
		w.Header().Del("X-Couch-Request-ID")
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>It works!</html>")
	case path == "" && r.Method == "PUT":
		n.set(func() { n.born = max(n.born, 0) + 1 })
		answer(w, 201, `{"ok":true}`)
	case path == "/_security" && r.Method == "GET":
		answer(w, 200, n.security())
	case path == "/_security" && r.Method == "PUT":
		n.secure(w, r, string(body))
	case path == "/_security", strings.HasPrefix(path, "/_local/") && r.Method == "PUT":
		answer(w, 200, `{"ok":true}`)
	case born == 0:
		answer(w, 404, `{"error":"not_found","reason":"Database does not exist."}`)
	case !allowed:
		answer(w, 401, `{"error":"unauthorized"}`)
	case path == "":
		n.info(w, false)
	case status != 0:
		answer(w, status, `{"error":"x"}`)
	case strings.Contains(path, "/_update/lead/"):
		id := path[strings.LastIndexByte(path, '/')+1:]
		w.Header().Set("X-Couch-Update-NewRev", n.store(id, string(body)))
		w.Header().Set("X-Couch-Id", id)
		w.WriteHeader(303)
	case r.Method == "PUT" || r.Method == "DELETE" || r.Method == "POST" && (path == "/" || path == "/_bulk_docs"):
		n.write(w, strings.TrimPrefix(path, "/"), string(body))
	case strings.Contains(path, "/_update/"):
		if len(body) > 0 {
			n.store("x", string(body))
		}
		answer(w, 200, "done")
	case strings.HasPrefix(path, "/_"):
		n.result(w, r, string(body))
	default:
		n.read(w, r, path[1:])
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body+"\n")
}

// info answers with the state of the database. Kasoku's own request begins to follow it from
// there on.
func (n *node) info(w http.ResponseWriter, own bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if own && !n.followed {
		n.from, n.followed = len(n.rows), true
	}
	if n.born == 0 {
		answer(w, 404, `{"error":"not_found"}`)
		return
	}
	answer(w, 200, fmt.Sprintf(`{"db_name":"db","instance_start_time":"%d","update_seq":"%d-x"}`, n.born, len(n.rows)))
}

func (n *node) read(w http.ResponseWriter, r *http.Request, id string) {
	n.mu.Lock()
	d, ok := n.docs[id]
	if rev := r.URL.Query().Get("rev"); ok && rev != "" && rev != d.rev {
		d.rev = rev
		d.body, ok = d.old[rev]
	}
	n.mu.Unlock()
	if !ok {
		answer(w, 404, `{"error":"not_found","reason":"missing"}`)
		return
	}
	w.Header().Set("ETag", strconv.Quote(d.rev))
	w.Header().Set("Cache-Control", "must-revalidate")
	if r.Header.Get("If-None-Match") == strconv.Quote(d.rev) {
		w.WriteHeader(304)
		return
	}
	if r.Method == "GET" {
		w.Header().Set("Content-Length", strconv.Itoa(len(d.body)+1))
		w.Header().Set("Content-Type", "application/json")
		n.halves(w, d.body+"\n")
		return
	}
	answer(w, 200, d.body)
}

// halves sends a body in two halves, if the node is configured to cut or delay the second one.
func (n *node) halves(w http.ResponseWriter, text string) {
	n.mu.Lock()
	pauses, breaks := n.pauses, n.cutReads > 0
	n.cutReads = max(0, n.cutReads-1)
	n.mu.Unlock()
	io.WriteString(w, text[:len(text)/2])
	w.(http.Flusher).Flush()
	if breaks {
		panic(http.ErrAbortHandler)
	}
	if pauses != nil {
		<-pauses
	}
	io.WriteString(w, text[len(text)/2:])
}

// result sends an answer that is computed from all documents, in pieces.
func (n *node) result(w http.ResponseWriter, r *http.Request, body string) {
	n.wait()
	n.mu.Lock()
	var ids []string
	for id, d := range n.docs {
		ids = append(ids, fmt.Sprintf(`{"id":%q,"value":%q}`, id, d.body))
	}
	sort.Strings(ids)
	text := `{"rows":[` + strings.Join(ids, ",") + `]}`
	if n.broken != "" {
		text = n.broken
	}
	if n.exact != "" {
		text, body = n.exact, ""
	}
	n.mu.Unlock()
	if strings.Contains(r.URL.Path, "/_list/") {
		text = r.Header.Get("Authorization") + " sees " + text
	}
	if tag := w.Header().Get("ETag"); tag != "" && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(304)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	n.halves(w, text+body)
}

// wait blocks the request while the node is configured to hold requests.
func (n *node) wait() {
	n.mu.Lock()
	hold, held := n.hold, n.held
	n.mu.Unlock()
	if hold != nil {
		held <- struct{}{}
		<-hold
	}
}

func (n *node) write(w http.ResponseWriter, id, body string) {
	n.mu.Lock()
	dropped, cut, later := n.dropped, n.cutBody, n.deferWrites
	n.mu.Unlock()
	if later {
		answer(w, 202, fmt.Sprintf(`{"ok":true,"id":%q}`, id))
		return
	}
	rev := n.store(id, body)
	n.wait()
	if dropped {
		panic(http.ErrAbortHandler)
	}
	if cut {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(201)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	answer(w, 201, fmt.Sprintf(`{"ok":true,"id":%q,"rev":%q}`, id, rev))
}

// showUsers sends the revisions of users.
func (n *node) showUsers(w http.ResponseWriter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.users {
	case "":
		answer(w, 401, `{"error":"unauthorized"}`)
	case "away":
		panic(http.ErrAbortHandler)
	default:
		answer(w, 200, fmt.Sprintf(`{"rows":[{"id":"_design/_auth","value":{"rev":"1-%s"}},{"id":"org.couchdb.user:ann","value":{"rev":"%s"}}]}`, n.name, n.users))
	}
}

func (n *node) missing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unreachable
}

// secure stores a _security, whose members are the Authorization fields of the permitted users.
func (n *node) secure(w http.ResponseWriter, r *http.Request, body string) {
	var s struct{ Members struct{ Names []string } }
	_ = json.Unmarshal([]byte(body), &s)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuseSecurity == 401 && r.Header.Get("Authorization") == own {
		n.refuseSecurity = 0
	}
	if n.refuseSecurity != 0 {
		answer(w, n.refuseSecurity, `{"error":"x"}`)
		return
	}
	n.securityWrites = append(n.securityWrites, body)
	if s.Members.Names != nil {
		n.allowed = map[string]bool{}
		for _, name := range s.Members.Names {
			n.allowed[name] = true
		}
	}
	answer(w, 200, `{"ok":true}`)
}

// own is the Authorization of Kasoku's own requests, if it has credentials.
const own = "Basic a2Fzb2t1OnB3"

// security returns the node's current _security.
func (n *node) security() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.securityWrites) == 0 {
		return "{}"
	}
	return n.securityWrites[len(n.securityWrites)-1]
}

// acceptedSecurity returns the bodies of the accepted writes of _security.
func (n *node) acceptedSecurity() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.securityWrites, " ")
}

// changes answers feeds, forward and, when whole, backward.
func (n *node) changes(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	since, _ := strconv.Atoi(strings.TrimSuffix(q.Get("since"), "-x"))
	rows, last, _, born := n.since(since)
	if born == 0 {
		answer(w, 404, `{"error":"not_found"}`)
		return
	}
	if q.Get("feed") != "continuous" {
		if q.Get("descending") == "true" {
			slices.Reverse(rows)
		}
		io.WriteString(w, fmt.Sprintf("{\"results\":[\n%s\n],\n\"last_seq\":\"%d-x\",\"pending\":0}\n", strings.Join(rows, ",\r\n"), last))
		return
	}
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	replica := n.replaced()
	user, _, _ := r.BasicAuth()
	for {
		rows, last, changed, now := n.since(since)
		if now != born || n.replaced() != replica {
			return
		}
		n.mu.Lock()
		silent := n.silent || n.delayed != "" && n.delayed == user
		n.mu.Unlock()
		if !silent {
			since = last
			io.WriteString(w, strings.Join(append(rows, ""), "\n")+"\n")
			w.(http.Flusher).Flush()
		}
		select {
		case <-changed:
		case <-beat.C:
		case <-r.Context().Done():
			return
		}
	}
}

func (n *node) since(seq int) (rows []string, last int, changed chan struct{}, born int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := min(seq, len(n.rows)); i < len(n.rows); i++ {
		id, rev, _ := strings.Cut(n.rows[i], " ")
		rows = append(rows, fmt.Sprintf(`{"seq":"%d-x","id":%q,"changes":[{"rev":%q}]}`, i+1, id, rev))
	}
	return rows, len(n.rows), n.changed, n.born
}

// diff answers _revs_diff.
func (n *node) diff(w http.ResponseWriter, r *http.Request) {
	var ask map[string][]string
	if json.NewDecoder(r.Body).Decode(&ask) != nil {
		answer(w, 400, `{}`)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	lacks := map[string]map[string][]string{}
	for id, revs := range ask {
		for _, rev := range revs {
			if !slices.Contains(n.docs[id].revs, rev) {
				lacks[id] = map[string][]string{"missing": append(lacks[id]["missing"], rev)}
			}
		}
	}
	text, _ := json.Marshal(lacks)
	answer(w, 200, string(text))
}
