// Package compare sends the same random requests to a CouchDB-like node and through Kasoku
// to others, in lock step, and compares the answers.
package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// request is one request. Its path may be written in several ways.
type request struct {
	method, path, body string
	header             []string
}

func (r *request) String() string {
	return fmt.Sprintf("%s %s %v %s", r.method, r.path, r.header, r.body)
}

// generator generates requests. It records the answers of the compared node.
type generator struct {
	*rand.Rand
	// alone is true if there is one node behind Kasoku, so that its feed and the bodies of
	// old revisions can be compared as well.
	alone bool
	revs  map[string][]string // by id, oldest first; the last is the current one unless it is empty
	n     int
}

var ids = []string{"a", "b", "c", "d", "with/slash", "p+q", "50%", "ü", "two words", ".dot", `quo"te`}

// attachment is the name of the documents' attachment.
const attachment = "picture.bin"

// setup returns the requests at the beginning of each comparison.
func setup() []request {
	list := []request{{method: "PUT", path: "/db"}, {method: "PUT", path: "/db/_design/d", body: design}}
	for i, id := range ids[:6] {
		list = append(list, request{method: "PUT", path: "/db/" + escape(id), body: fmt.Sprintf(`{"n":%d,"tag":"x"}`, i)})
	}
	return list
}

const design = `{"views":{"by_n":{"map":"function(doc) { if ('n' in doc) emit(doc.n, doc.tag); }"},
"count":{"map":"function(doc) { emit(doc.tag || null, 1); }","reduce":"_count"}},
"lists":{"rows":"function(head, req) { start({headers: {'Content-Type': 'text/plain'}}); var row; while (row = getRow()) send(row.id + ' ' + row.key + '\\n'); return 'of ' + head.total_rows + '\\n' + (req.query.greeting || ''); }"},
"shows":{"plain":"function(doc, req) { return {headers: {'Content-Type': 'text/plain'}, body: doc ? doc._id + ' ' + doc.n : 'none of ' + req.id}; }"},
"updates":{"more":"function(doc, req) { doc = doc || {_id: req.id}; doc.n = (doc.n || 0) + 1000; return [doc, 'now ' + doc.n]; }"},
"filters":{"odd":"function(doc, req) { return doc.n % 2 == 1; }"}}`

func escape(id string) string { return strings.ReplaceAll(url.PathEscape(id), "+", "%2B") }

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) id() string { return ids[g.IntN(len(ids))] }

// rev returns the document's current revision; "" if there is none.
func (g *generator) rev(id string) string {
	if list := g.revs[id]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// next generates a request.
func (g *generator) next() request {
	kinds := []struct {
		weight int
		make   func() request
	}{{25, g.document}, {12, g.put}, {4, g.remove}, {2, g.copy}, {5, g.putFile}, {8, g.file}, {20, g.view}, {10, g.list}, {5, g.show}, {8, g.all}, {6, g.find},
		{4, g.bulkGet}, {4, g.bulkDocs}, {3, g.diff}, {4, g.changes}, {3, g.local}, {5, g.about}, {3, g.update}, {5, g.wrong}}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	at := g.IntN(total)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k.make()
		}
	}
	panic("the weights don't add up")
}

func (g *generator) document() request {
	id := g.id()
	r := request{method: g.pick("GET", "GET", "GET", "HEAD"), path: "/db/" + escape(id)}
	switch g.IntN(8) {
	case 0:
		r.path += "?" + g.pick("revs=true", "conflicts=true", "meta=true", "attachments=true", "open_revs=all", "local_seq=false")
	case 1:
		if rev := g.rev(id); rev != "" {
			r.path += "?rev=" + rev
		}
	case 2:
		if list := g.revs[id]; len(list) > 0 && g.alone {
			r.path += "?rev=" + list[g.IntN(len(list))]
		}
	case 3:
		if rev := g.rev(id); rev != "" {
			r.header = []string{"If-None-Match", `"` + rev + `"`}
		}
	case 4:
		r.header = []string{"Accept", g.pick("*/*", "text/html", "application/json;q=0.9", "text/plain")}
	}
	return r
}

func (g *generator) content() map[string]any {
	g.n++
	doc := map[string]any{"n": g.n % 17, "tag": g.pick("x", "y", "ü"), "at": g.n}
	if g.IntN(5) == 0 {
		delete(doc, "n")
	}
	return doc
}

func (g *generator) put() request {
	id := g.id()
	doc := g.content()
	if rev := g.rev(id); rev != "" && g.IntN(8) > 0 {
		doc["_rev"] = rev
	}
	return request{method: "PUT", path: "/db/" + escape(id), body: text(doc)}
}

func text(v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and strings always marshal
	}
	return string(body)
}

func (g *generator) remove() request {
	id := g.id()
	return request{method: "DELETE", path: "/db/" + escape(id) + "?rev=" + g.rev(id)}
}

func (g *generator) copy() request {
	id := g.id()
	to := escape(id)
	if rev := g.rev(id); rev != "" {
		to += "?rev=" + rev
	}
	return request{method: "COPY", path: "/db/" + escape(g.id()), header: []string{"Destination", to}}
}

func (g *generator) putFile() request {
	id := g.id()
	g.n++
	return request{method: "PUT", path: "/db/" + escape(id) + "/" + attachment + "?rev=" + g.rev(id), body: strings.Repeat(fmt.Sprint("bytes ", g.n, " "), 20),
		header: []string{"Content-Type", g.pick("image/png", "text/plain")}}
}

func (g *generator) file() request {
	r := request{method: g.pick("GET", "GET", "HEAD"), path: "/db/" + escape(g.id()) + "/" + attachment}
	switch g.IntN(4) {
	case 0:
		r.header = []string{"Range", g.pick("bytes=3-9", "bytes=-5", "bytes=10-")}
	case 1:
		r.path = strings.TrimSuffix(r.path, attachment) + "none.txt"
	}
	return r
}

// query generates parameters of a view.
func (g *generator) query(reduce bool) string {
	var list []string
	for _, p := range []string{"limit=" + g.pick("0", "1", "3"), "skip=1", "descending=true", "include_docs=true", "inclusive_end=false", "update_seq=false",
		"startkey=" + g.pick("3", "%22x%22"), "endkey=" + g.pick("9", "%22y%22"), "key=" + g.pick("4", "%22x%22")} {
		if reduce && strings.HasPrefix(p, "include_docs") {
			p = g.pick("group=true", "reduce=false", "group_level=1")
		}
		if g.IntN(6) == 0 {
			list = append(list, p)
		}
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if len(list) == 0 {
		return ""
	}
	return "?" + strings.Join(list, "&")
}

func (g *generator) view() request {
	name := g.pick("by_n", "by_n", "count")
	path := g.pick("/db/_design/d/_view/", "/db/_design/d/_view/", "/db/_design%2Fd/_view/") + name
	if g.IntN(4) == 0 {
		return request{method: "POST", path: path, body: g.pick(`{"keys":[1,5,"x"]}`, `{"keys":[]}`, `{"keys":["x","y"]}`)}
	}
	return request{method: "GET", path: path + g.query(name == "count")}
}

func (g *generator) list() request {
	query := g.query(false)
	if g.IntN(3) == 0 {
		query = strings.TrimPrefix(query+"&", "&") + "greeting=" + g.pick("hello", "b%C3%BC")
		if !strings.HasPrefix(query, "?") {
			query = "?" + query
		}
	}
	return request{method: "GET", path: "/db/_design/d/_list/rows/by_n" + query}
}

func (g *generator) show() request {
	path := "/db/_design/d/_show/plain"
	if g.IntN(4) > 0 {
		path += "/" + escape(g.id())
	}
	return request{method: "GET", path: path, header: []string{"Accept", g.pick("*/*", "text/plain", "application/json")}}
}

func (g *generator) all() request {
	if g.IntN(3) == 0 {
		return request{method: "POST", path: "/db/_all_docs" + g.pick("", "?include_docs=true"), body: text(map[string]any{"keys": []string{g.id(), g.id(), "none"}})}
	}
	return request{method: "GET", path: "/db/_all_docs" + g.pick("", "?include_docs=true", "?descending=true&limit=4", "?startkey=%22b%22&endkey=%22p%22", "?key=%22a%22")}
}

func (g *generator) find() request {
	return request{method: "POST", path: "/db/_find", body: g.pick(`{"selector":{"tag":"x"}}`, `{"selector":{"n":{"$gt":5}},"fields":["_id","n"]}`, `{"selector":{"tag":{"$in":["y"]}},"limit":2}`, `{"selector":7}`)}
}

func (g *generator) bulkGet() request {
	return request{method: "POST", path: "/db/_bulk_get", body: text(map[string]any{"docs": []map[string]any{{"id": g.id()}, {"id": g.id()}}})}
}

func (g *generator) bulkDocs() request {
	var docs []map[string]any
	seen := map[string]bool{}
	for range 1 + g.IntN(3) {
		id := g.id()
		if seen[id] {
			continue
		}
		seen[id] = true
		doc := g.content()
		doc["_id"] = id
		if rev := g.rev(id); rev != "" {
			doc["_rev"] = rev
		}
		if g.IntN(5) == 0 {
			doc["_deleted"] = true
		}
		docs = append(docs, doc)
	}
	return request{method: "POST", path: "/db/_bulk_docs", body: text(map[string]any{"docs": docs})}
}

func (g *generator) diff() request {
	id := g.id()
	return request{method: "POST", path: "/db/_revs_diff", body: text(map[string][]string{id: {g.rev(id), "9-abc"}})}
}

func (g *generator) changes() request {
	if !g.alone {
		return g.view()
	}
	return request{method: "GET", path: "/db/_changes?" + g.pick("since=0", "include_docs=true", "style=all_docs", "filter=d/odd")}
}

func (g *generator) local() request {
	if g.IntN(2) == 0 {
		g.n++
		return request{method: "PUT", path: "/db/_local/checkpoint" + fmt.Sprint(g.n), body: `{"at":1}`}
	}
	return request{method: "GET", path: "/db/_local/checkpoint" + fmt.Sprint(max(1, g.n-1))}
}

func (g *generator) about() request {
	return request{method: "GET", path: g.pick("/db", "/db/_security", "/_session", "/db/_design/d", "/db/_design/d/_info", "/db/_index", "/_all_dbs")}
}

func (g *generator) update() request {
	return request{method: g.pick("PUT", "POST"), path: "/db/_design/d/_update/more/" + escape(g.id()), body: "{}"}
}

// wrong generates a request that CouchDB refuses.
func (g *generator) wrong() request {
	switch g.IntN(6) {
	case 0:
		return request{method: "PUT", path: "/db/a", body: `{"n":`}
	case 1:
		return request{method: "GET", path: "/nowhere/a"}
	case 2:
		return request{method: "GET", path: "/db/_design/d/_view/none"}
	case 3:
		return request{method: "GET", path: "/db/_design/none/_view/by_n"}
	case 4:
		return request{method: "PUT", path: "/db/" + escape(g.id()), body: `{"_rev":"1-00000000000000000000000000000000"}`}
	}
	return request{method: "DELETE", path: "/db/none?rev=1-00000000000000000000000000000000"}
}
