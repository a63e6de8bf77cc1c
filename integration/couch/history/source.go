package history

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Keys is the number of documents of a run. Documents for which owned returns true are written
// directly to the other node only.
const Keys = 16

func owned(key int32) bool { return key%4 == 3 }

func docID(key int32) string { return fmt.Sprintf("k%02d", key) }

// keyOf returns the key of the document with that id; false if it is not one of the run.
func keyOf(id string) (int32, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "k"))
	if err != nil || n < 0 || n >= Keys || docID(int32(n)) != id {
		return 0, false
	}
	return int32(n), true
}

// design is the design document for the sources.
const design = `{"views":{"all":{"map":"function(doc) { if (doc.type == 'register') emit(doc._id, {n: doc.n, rev: doc._rev}); }"}},
"lists":{"text":"function(head, req) { start({headers: {'Content-Type': 'text/plain'}}); var row; while (row = getRow()) send(row.key + ' ' + row.value.n + ' ' + row.value.rev + '\\n'); return 'end\\n'; }"},
"shows":{"text":"function(doc, req) { return {headers: {'Content-Type': 'text/plain'}, body: doc ? doc._id + ' ' + doc.n + ' ' + doc._rev + '\\nend\\n' : 'end\\n'}; }"}}`

// source is one way to read documents: one document if it has a key, otherwise all.
type source struct {
	name         string
	method, path string // the path below the database, for one document with its id
	body         string
	rows         func(text []byte) (rows, error)
	computed     bool // of any documents, from the accelerator's view
}

// rows are the documents in an answer, by key.
type rows map[int32]Seen

// documents are the sources of one document, results the sources of all.
var documents = []source{
	{name: "document", method: "GET", path: "%s", rows: oneDocument},
	{name: "show", method: "GET", path: "_design/h/_show/text/%s", rows: lines, computed: true},
}

var results = []source{
	{name: "view", method: "GET", path: "_design/h/_view/all", rows: viewRows, computed: true},
	{name: "view, descending", method: "GET", path: "_design/h/_view/all?descending=true&limit=1000", rows: viewRows, computed: true},
	{name: "list", method: "GET", path: "_design/h/_list/text/all", rows: lines, computed: true},
	{name: "all documents", method: "GET", path: `_all_docs?startkey=%22k%22&endkey=%22l%22`, rows: allRows, computed: true},
	{name: "view by POST", method: "POST", path: "_design/h/_view/all", body: allKeys(), rows: viewRows, computed: true},
	{name: "find", method: "POST", path: "_find", body: `{"selector":{"type":"register"},"limit":1000}`, rows: found, computed: true},
}

func allKeys() string {
	var ids []string
	for key := range int32(Keys) {
		ids = append(ids, docID(key))
	}
	text, _ := json.Marshal(map[string]any{"keys": ids}) // strings always marshal
	return string(text)
}

// document is a document as CouchDB stores it.
type document struct {
	ID  string `json:"_id"`
	Rev string `json:"_rev"`
	N   int64  `json:"n"`
}

// generation returns the number before a revision's dash; 0 if there is none.
func generation(rev string) int32 {
	n, _, _ := strings.Cut(rev, "-")
	gen, err := strconv.ParseInt(n, 10, 32)
	if err != nil {
		return 0
	}
	return int32(gen)
}

// put adds a row. An answer must contain documents of the run only, each once.
func (r rows) put(id, rev string, n int64) error {
	key, ok := keyOf(id)
	gen := generation(rev)
	if _, twice := r[key]; !ok || twice || gen == 0 {
		return fmt.Errorf("a row of %q in revision %q", id, rev)
	}
	r[key] = Seen{gen, n}
	return nil
}

func oneDocument(text []byte) (rows, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	r := rows{}
	return r, r.put(d.ID, d.Rev, d.N)
}

func viewRows(text []byte) (rows, error) {
	var answer struct {
		Rows []struct {
			ID    string
			Value struct {
				N   int64
				Rev string
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	if answer.Rows == nil {
		return nil, fmt.Errorf("no rows in %.200q", text)
	}
	r := rows{}
	for _, row := range answer.Rows {
		if err := r.put(row.ID, row.Value.Rev, row.Value.N); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func allRows(text []byte) (rows, error) {
	r, err := viewRows(text)
	for key, s := range r {
		r[key] = Seen{s.Gen, NoNumber}
	}
	return r, err
}

func found(text []byte) (rows, error) {
	var answer struct{ Docs []document }
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	if answer.Docs == nil {
		return nil, fmt.Errorf("no docs in %.200q", text)
	}
	r := rows{}
	for _, d := range answer.Docs {
		if err := r.put(d.ID, d.Rev, d.N); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// lines parses the output of the list and the show, whose last line shows that nothing is
// missing.
func lines(text []byte) (rows, error) {
	body, whole := strings.CutSuffix(string(text), "end\n")
	if !whole {
		return nil, fmt.Errorf("no end in %.200q", text)
	}
	r := rows{}
	for line := range strings.Lines(body) {
		var id, rev string
		var n int64
		if _, err := fmt.Sscan(line, &id, &n, &rev); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		if err := r.put(id, rev, n); err != nil {
			return nil, err
		}
	}
	return r, nil
}
