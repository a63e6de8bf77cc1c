package api

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

func of(method, target string) Route {
	path, query, _ := strings.Cut(target, "?")
	return Classify([]byte(method), nil, []byte(path), []byte(query))
}

var touchNames = []string{"document", "body", "destination", "documents", "database", "names", "security", "users", "session"}

func (t Touch) String() string {
	var on []string
	for i, name := range touchNames {
		if t&(1<<i) != 0 {
			on = append(on, name)
		}
	}
	return strings.Join(on, ",")
}

// TestRows has a case for each row and method in CouchDB's manual: the class, the kind of resource,
// the node, and the things touched.
func TestRows(t *testing.T) {
	f := func(methods, target, want string) {
		t.Helper()
		for method := range strings.FieldsSeq(methods) {
			r := of(method, target)
			got := strings.TrimRight(r.Class.String()+" | "+r.Kind.String()+" | "+r.Node.String()+" | "+r.Touch.String(), "| ")
			if got != want {
				t.Errorf("%s %s:\n got %s\nwant %s", method, target, got, want)
			}
		}
	}
	f("GET HEAD", "/", "pass | server | any")
	f("GET", "/_up", "pass | server | any")
	f("GET HEAD", "/_all_dbs", "read | names | any")
	f("POST", "/_all_dbs", "pass | names | any")
	f("GET POST", "/_dbs_info", "pass | server | any")
	f("GET", "/_session", "pass | server | same")
	f("POST DELETE", "/_session", "write | server | same | session")
	f("GET", "/_uuids?count=3", "pass | server | any")
	f("GET", "/_active_tasks", "pass | server | same")
	f("GET", "/_scheduler/jobs", "pass | server | same")
	f("GET", "/_node/_local/_config", "pass | server | same")
	f("PUT", "/_node/_local/_config/admins/a", "write | server | same | names,users")
	f("PUT DELETE", "/_config/admins/a", "write | server | same | names,users")
	f("GET", "/_utils/index.html", "static | server | any")
	f("GET", "/favicon.ico", "static | server | any")
	f("GET", "/_db_updates", "pass | feed | same")
	f("GET", "/_db_updates?feed=continuous", "stream | feed | same")
	f("POST", "/_replicate", "write | server | same | names")
	f("POST", "/_search_analyze", "pass | server | any")

	f("GET HEAD", "/db", "pass | database | any")
	f("GET HEAD", "/db/", "pass | database | any")
	f("POST", "/db", "write | database | writer | body")
	f("PUT DELETE", "/db", "write | database | writer | database,names,security")
	f("GET HEAD", "/db/_all_docs?limit=1", "read | result | any")
	f("POST", "/db/_all_docs", "read by body | result | any")
	f("POST", "/db/_all_docs/queries", "read by body | result | any")
	f("GET", "/db/_design_docs", "read | result | any")
	f("GET POST", "/db/_local_docs", "pass | database | same")
	f("GET", "/db/_partition/p", "pass | database | any")
	f("GET", "/db/_partition/p/_all_docs", "read | result | any")
	f("POST", "/db/_partition/p/_find", "read by body | result | any")
	f("GET", "/db/_partition/p/_design/d/_view/v", "read | result | any")
	f("GET HEAD", "/db/_design/d/_view/v?limit=10", "read | result | any")
	f("POST", "/db/_design/d/_view/v", "read by body | result | any")
	f("POST", "/db/_design/d/_view/v/queries", "read by body | result | any")
	f("POST", "/db/_find", "read by body | result | any")
	f("POST", "/db/_explain", "read by body | result | any")
	f("GET", "/db/_find", "pass | result | any")
	f("GET", "/db/_index", "read | result | any")
	f("POST", "/db/_index", "write | result | writer | documents")
	f("DELETE", "/db/_index/d/json/n", "write | result | writer | documents")
	f("POST", "/db/_bulk_get", "read by body | result | any")
	f("POST", "/db/_revs_diff", "pass | database | writer")
	f("POST", "/db/_missing_revs", "pass | database | writer")
	f("GET POST", "/db/_changes?since=1", "pass | feed | same")
	f("GET POST", "/db/_changes?feed=longpoll", "stream | feed | same")
	f("GET", "/db/_changes?feed=normal&feed=eventsource", "stream | feed | same")
	f("GET", "/db/_changes?since=1;feed=%63ontinuous", "stream | feed | same")
	f("GET", "/db/_design/d/_search/i?q=x", "pass | database | any")
	f("GET", "/db/_design/d/_list/f/v", "read | rendering | any")
	f("GET", "/db/_design/d/_list/f/e/v?q=1", "read | rendering | any")
	f("POST", "/db/_design/d/_list/f/v", "read by body | rendering | any")
	f("GET", "/db/_design/d/_show/f/id", "read | rendering | any")
	f("POST", "/db/_design/d/_show/f/id", "pass | rendering | any")
	f("GET POST PUT", "/db/_design/d/_update/f/id", "write | database | writer | documents")
	f("GET", "/db/_design/d/_rewrite/a/b", "pass | database | any")
	f("POST PUT DELETE", "/db/_design/d/_rewrite/a/b", "write | database | writer | documents")
	f("GET", "/db/_design/d/_info", "pass | database | any")
	f("GET HEAD", "/db/id", "read | document | any")
	f("GET", "/db/_design/d", "read | document | any")
	f("PUT DELETE POST", "/db/id", "write | document | writer | document")
	f("PUT DELETE", "/db/_design/d", "write | document | writer | document")
	f("COPY", "/db/id", "write | document | writer | destination")
	f("GET HEAD", "/db/id/att", "read | attachment | any")
	f("GET", "/db/_design/d/a/b.png", "read | attachment | any")
	f("PUT DELETE", "/db/id/att", "write | attachment | writer | document")
	f("PUT", "/db/_design/d/att", "write | attachment | writer | document")
	f("GET", "/db/_local/id", "pass | local | same")
	f("PUT DELETE", "/db/_local/id", "write | local | same")
	f("GET", "/db/_security", "pass | database | any")
	f("PUT", "/db/_security", "write | database | writer | security")
	f("GET", "/db/_shards", "pass | database | any")
	f("PUT", "/db/_revs_limit", "write | database | writer")
	f("POST", "/db/_bulk_docs", "write | database | writer | body")
	f("POST", "/db/_purge", "write | database | writer | database")
	f("POST", "/db/_compact", "write | database | writer")
	f("POST", "/db/_view_cleanup", "write | database | writer")
	f("POST", "/db/_ensure_full_commit", "write | database | writer")

	// Unknown endpoints.
	f("GET", "/db/_new", "pass | database | any")
	f("POST", "/db/_new", "write | database | writer | database")
	f("POST", "/db/_design/d/_new", "write | database | writer | database")
	f("PATCH OPTIONS", "/db/id", "pass | document | any")
	f("get", "/db/id", "pass | document | any")

	// The server's own databases.
	f("GET", "/_users/org.couchdb.user:bob", "pass | document | any")
	f("PUT", "/_users/org.couchdb.user:bob", "write | document | writer | document,users")
	f("GET", "/_replicator/_all_docs", "pass | result | any")
	f("GET", "/%5Fusers/_all_docs", "pass | result | any")
}

// TestPaths checks how paths are parsed.
func TestPaths(t *testing.T) {
	f := func(method, target, class, db, id, attachment string) {
		t.Helper()
		r := of(method, target)
		if got := r.Class.String(); got != class || string(r.AppendDB(nil)) != db || string(r.AppendID(nil)) != id || string(r.Attachment) != attachment {
			t.Errorf("%s %s: got %s, %q, %q, %q", method, target, got, r.AppendDB(nil), r.AppendID(nil), r.Attachment)
		}
	}
	f("GET", "//db//id", "read", "db", "id", "")
	f("GET", "/a%2Fb/c%2fd", "read", "a/b", "c/d", "")
	f("GET", "/db/..", "read", "db", "..", "")
	f("GET", "/db/.hidden", "read", "db", ".hidden", "")
	f("GET", "/db/%C3%BC", "read", "db", "ü", "")
	f("GET", "/db/%5Fdesign/d", "read", "db", "_design/d", "")
	f("GET", "/db/_design%2Fd", "pass", "db", "", "")
	f("PUT", "/db/_design%2Fd", "write", "db", "_design/d", "")
	f("GET", "/db/_local%2Fd", "pass", "db", "", "")
	f("GET", "/db/id/a/b%20c", "read", "db", "id", "a/b%20c")
	f("GET", "/db/_design/d/a", "read", "db", "_design/d", "a")
	f("GET", "/db/_design/d/_view/v", "read", "db", "_design/d", "")
	f("GET", "/db/a+b", "pass", "db", "a b", "")
	f("GET", "/db/a%2Bb", "read", "db", "a+b", "")
	f("GET", "/db/100%", "pass", "db", "100%", "")
	f("GET", "/db/id?a=%zz", "pass", "db", "id", "")
	f("GET", "/db/id?a=1;b=2", "pass", "db", "id", "")
	f("GET", "/db/%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f%5f", "pass", "db", "", "")
	if r := of("PUT", "/db/a+b"); r.Touch != TouchDocument|TouchDocuments {
		t.Errorf("a path with a plus touches %s", r.Touch)
	}
}

func TestFlags(t *testing.T) {
	f := func(target string, class Class, flags Flags) {
		t.Helper()
		if r := of("GET", target); r.Class != class || r.Flags != flags {
			t.Errorf("%s: got %s, %b", target, r.Class, r.Flags)
		}
	}
	f("/db/id?rev=1-a", Read, NamedRevision)
	f("/db/id?%72ev=1-a", Read, NamedRevision)
	f("/db/id?rev=1-a&latest=true", Read, 0)
	f("/db/id?rev=1-a&latest=1", Read, 0)
	f("/db/id?rev=1-a&latest=false", Read, NamedRevision)
	f("/db/id?rev=1%2Da", Read, NamedRevision)
	f("/db/id?rev=", Pass, NamedRevision)
	f("/db/id?rev=null", Pass, NamedRevision)
	f("/db/id?rev=%221-a%22", Pass, NamedRevision)
	f("/db/id?rev=1-a&rev=1-b", Pass, NamedRevision)
	f("/db/id?revs_info=true", Pass, 0)
	f("/db/id?meta=true", Pass, 0)
	f("/db/id?rev=1-a&conflicts=true", Read, NamedRevision|RevisionMeta)
	f("/db/id?open_revs=all", Read, RevisionMeta|Multipart)
	f("/db/id?open_revs=%5B%221-a%22%5D", Pass, RevisionMeta|Multipart)
	f("/db/_all_docs?include_docs=true", Read, HasRows|IncludesDocs)
	f("/db/_all_docs?include_docs=false", Read, HasRows)
	f("/db/id?local_seq=true", Pass, 0)
	f("/db/id/att?rev=1-a", Read, NamedRevision)
	f("/db/_design/d/_view/v?stale=ok", Read, HasRows|AllowsStale)
	f("/db/_design/d/_view/v?update=lazy", Read, HasRows|AllowsStale)
	f("/db/_design/d/_view/v?update=true", Read, HasRows)
	f("/db/_design/d/_list/f/v", Read, HasRows)
	f("/db/_design/d/_show/f", Read, 0)
	f("/db/_all_docs?update_seq=true", Pass, HasRows)
	f("/db/_all_docs?update_seq=false", Read, HasRows)
}

func TestOverride(t *testing.T) {
	f := func(method, override, path, want string) {
		t.Helper()
		r := Classify([]byte(method), []byte(override), []byte(path), nil)
		if got := r.Class.String() + " " + r.Touch.String(); strings.TrimSpace(got) != want {
			t.Errorf("%s with %q %s: got %s; want %s", method, override, path, got, want)
		}
	}
	f("POST", "DELETE", "/db", "write body,database,names,security")
	f("POST", "PUT", "/db/id", "write document")
	f("POST", "GET", "/db/_bulk_docs", "write body")
	f("POST", "GET", "/db/_all_docs", "pass")
	f("POST", "COPY", "/db/_all_docs", "pass")
	f("GET", "DELETE", "/db/id", "read")
	f("POST", "nonsense", "/db/_find", "pass")
	f("POST", "TRACE", "/db/id", "write document")
	f("POST", "COPY", "/db/id", "write document,destination")
	f("POST", "POST", "/db/_find", "pass")
	f("PUT", "DELETE", "/db/id", "write document")
	// The result is undefined where versions of CouchDB differ.
	for _, invalid := range []string{"DELETE;q=1", "delete", " DELETE", "PUT,DELETE", "PATCH", ""} {
		f("POST", invalid, "/db", "write body,database,names,security")
		f("POST", invalid, "/db/id", "write document,destination")
		f("POST", invalid, "/db/_all_docs", "pass")
	}
}

func TestKey(t *testing.T) {
	f := func(target, want string) {
		t.Helper()
		r := of("GET", target)
		if got := string(r.AppendKey(nil)); got != want {
			t.Errorf("%s: got %s; want %s", target, got, want)
		}
	}
	f("/db/id", "/db/id")
	f("//db//id/", "/db/id")
	f("/d%62/a%2fb", "/db/a%2Fb")
	f("/db/a%20b?", "/db/a%20b")
	f("/db/id?rev=1-a&attachments=true", "/db/id?attachments=true&rev=1-a")
	f("/db/_all_docs?startkey=%22a%22&limit=2", "/db/_all_docs?limit=2&startkey=%22a%22")
	f("/db/_all_docs?limit=2&limit=1&a", "/db/_all_docs?a=&limit=2&limit=1")
	f("/db/_all_docs?limit=1&limit=2", "/db/_all_docs?limit=1&limit=2")
	f("/db/_all_docs?key=%22a+b%22&&", "/db/_all_docs?key=%22a%20b%22")
	f("/db/_all_docs?k%65y=%22a%2Bb%22", "/db/_all_docs?key=%22a%2Bb%22")
	f("/db/_design/d/_list/f/v?b=1&a=%61", "/db/_design/d/_list/f/v?b=1&a=%61")
	f("/db/_all_docs?"+strings.Repeat("b=1&", maxParams)+"a=1", "/db/_all_docs?"+strings.Repeat("b=1&", maxParams)+"a=1")
	f("/db/_all_docs?"+strings.Repeat("b=1&", maxParams-1)+"a=1", "/db/_all_docs?a=1"+strings.Repeat("&b=1", maxParams-1))
}

func TestBody(t *testing.T) {
	f := func(body, want string, ok bool) {
		t.Helper()
		got, kept := new(Route).AppendBody([]byte("k"), []byte(body))
		if string(got) != want || kept != ok {
			t.Errorf("%s: got %q, %t", body, got, kept)
		}
	}
	f(`{ "keys" : ["a b", 1] }`, "k\x00"+`{"keys":["a b",1]}`, true)
	f(`{"limit":1 2}`, "k", false)
	f(``, "k", false)
	f(`{"update":"false"}`, "k", false)
	f(`{"queries":[{"update_seq":true}]}`, "k", false)
	f(`{"\u0075pdate":false}`, "k", false)
}

func TestAccept(t *testing.T) {
	key := func(target, accept string) string {
		r := of("GET", target)
		return string(r.AppendAccept(nil, []byte(accept)))
	}
	same := func(target, a, b string, want bool) {
		t.Helper()
		if got := key(target, a) == key(target, b); got != want {
			t.Errorf("%s: %q and %q: got the same key %t", target, a, b, got)
		}
	}
	same("/db/id", "*/*", "text/html", true)
	same("/db/id", "*/*", "text/html, application/json", false)
	same("/db/id", "application/json", "multipart/mixed, application/json", false)
	same("/db/_design/d/_show/f", "*/*", "text/html", false)
	same("/db/id", "text/html, application/json", "application/json, */*", true)
	same("/db/id", "application/json", "application/json;q=0.5", false)
	for _, target := range []string{"/db/id?open_revs=all", "/db/id?attachments=true", "/db/id?rev=1-a&atts_since=%5B%5D"} {
		same(target, "*/*", "text/html", false)
		same(target, "application/json, */*", "application/json", false)
		same(target, "multipart/mixed", "multipart/related", false)
	}
	bulk := Classify([]byte("POST"), nil, []byte("/db/_bulk_get"), nil)
	if string(bulk.AppendAccept(nil, []byte("*/*"))) == string(bulk.AppendAccept(nil, []byte("application/json"))) {
		t.Error("_bulk_get: multipart and JSON have the same key")
	}
}

// TestAllocs checks the allocations that every hit needs.
func TestAllocs(t *testing.T) {
	if race.Enabled {
		return // the race detector allocates
	}
	key := make([]byte, 0, 512)
	for _, target := range []string{"/db/t00001", "/d%62/_design/tweets/_view/by_date?limit=10&descending=true", "/db/_all_docs?%6cimit=1"} {
		path, query, _ := strings.Cut(target, "?")
		m, p, q := []byte("GET"), []byte(path), []byte(query)
		allocs := testing.AllocsPerRun(100, func() {
			r := Classify(m, nil, p, q)
			key = r.AppendKey(key[:0])
			key = r.AppendAccept(key, p)
			key = r.AppendID(r.AppendDB(key))
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", target, allocs)
		}
	}
}

// FuzzClassify checks invariants for any path: a key is its own key and has the same route,
// and nothing ambiguous is cached.
func FuzzClassify(f *testing.F) {
	for _, seed := range []string{"/db/id", "//db/_design%2Fd/?a;b", "/db/_design/d/_view/v?b=1&a=%2", "/_users/x", "/db/%5flocal/%", "/a+b/c?d+e=f"} {
		f.Add("GET", "", seed)
		f.Add("POST", "PUT", seed)
	}
	f.Fuzz(func(t *testing.T, method, override, target string) {
		path, query, _ := strings.Cut(target, "?")
		r := Classify([]byte(method), []byte(override), []byte(path), []byte(query))
		if r.Class != Read && r.Class != ReadByBody {
			return
		}
		if r.Touch != 0 || r.InSystemDatabase() || methodOf([]byte(method)) > post {
			t.Fatalf("%s %s: %s touches %s", method, target, r.Class, r.Touch)
		}
		key := string(r.AppendKey(nil))
		again, rest, _ := strings.Cut(key, "?")
		s := Classify([]byte(method), []byte(override), []byte(again), []byte(rest))
		if second := string(s.AppendKey(nil)); second != key {
			t.Errorf("%s: got the key %s, whose key is %s", target, key, second)
		}
		if s.Class != r.Class || s.Kind != r.Kind || s.Flags != r.Flags || string(s.AppendDB(nil)) != string(r.AppendDB(nil)) || string(s.AppendID(nil)) != string(r.AppendID(nil)) {
			t.Errorf("%s: %+v; its key %s: %+v", target, r, key, s)
		}
	})
}
