package transfer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	book   = `{"Authors":{"SS":["Author1","Author2"]},"Dimensions":{"S":"8.5 x 11.0 x 1.5"},"ISBN":{"S":"333-3333333333"},"Id":{"N":"103"},"InPublication":{"BOOL":false},"PageCount":{"N":"600"},"Price":{"N":"2000"},"ProductCategory":{"S":"Book"},"Title":{"S":"Book 103 Title"}}`
	volume = `{"Id":{"N":"205"},"Cover":{"B":"aGVsbG8="},"Sizes":{"NS":["1","2.5"]},"Scans":{"BS":["aA==","aQ=="]},"Gone":{"NULL":true},"Parts":{"L":[{"S":"a"},{"M":{"n":{"N":"-0.5"}}}]}}`
)

// load loads files without errors.
func load(t testing.TB, cfg *Config, paths ...string) Totals {
	t.Helper()
	totals, err := Load(t.Context(), cfg, paths)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Clean(path) + stateEnding); err == nil {
			t.Errorf("the state of the complete load of %s remains", path)
		}
	}
	return totals
}

func TestLoadExports(t *testing.T) {
	s := newServer(t)
	full := t.TempDir()
	extract(t, "full.txtar", full)
	totals := load(t, s.config(), full)
	if totals.Items != 2 || !slices.Equal(totals.Created, []string{"ProductCatalog"}) || !slices.Equal(totals.Tables, totals.Created) {
		t.Errorf("got %+v", totals)
	}
	s.expectItems("ProductCatalog", book, volume)

	// The export's own directory, into a table of another name. The description is found.
	load(t, s.config("other"), filepath.Join(full, exportID))
	s.expectItems("other", book, volume)

	// In Ion, without a description: the table exists.
	ion := t.TempDir()
	extract(t, "ion.txtar", ion)
	s.must("DeleteTable", `{"TableName":"ProductCatalog"}`)
	s.must("CreateTable", `{"TableName":"ProductCatalog","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"Id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"Id","AttributeType":"N"}]}`)
	load(t, s.config(), ion)
	s.expectItems("ProductCatalog", book, volume)

	// Incremental exports, the earlier one first.
	incremental := t.TempDir()
	extract(t, "incremental.txtar", incremental)
	if totals := load(t, s.config(), incremental); totals.Items != 3 || totals.Deleted != 1 {
		t.Errorf("got %+v", totals)
	}
	s.expectItems("ProductCatalog", `{"Id":{"N":"103"},"Price":{"N":"2500"}}`, `{"Id":{"N":"301"},"Price":{"N":"7"}}`)
}

// schemaOf returns a description of a table with the key id.
func schemaOf(table, typ string) string {
	return `{"TableName":"` + table + `","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"` + typ + `"}]}`
}

func TestLoadDirectory(t *testing.T) {
	s, directory := newServer(t), t.TempDir()
	write(t, directory, "one.json", schemaOf("one", "S"))
	write(t, directory, "one.ttl.json", `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"e"}}`)
	write(t, directory, "one.items.json.gz", `{"id":{"S":"a"}}`+"\n"+`{"Item":{"id":{"S":"b"},"n":{"N":"1"}}}`)
	write(t, directory, "one.csv", "id,n\nc,7\n")
	write(t, directory, "two.schema.json", schemaOf("two-prod", "N")) // the name is that of the content
	write(t, directory, "two.ion", "$ion_1_0 {Item:{id:5.}}\n")
	write(t, directory, "README", "")
	cfg := s.config()
	var notes []string
	cfg.Report = func(m string) { notes = append(notes, m) }
	totals := load(t, cfg, directory)
	if totals.Items != 4 || strings.Join(totals.Created, ",") != "one,two-prod" || totals.Failed != 0 {
		t.Errorf("got %+v", totals)
	}
	if len(notes) != 1 || !strings.HasSuffix(notes[0], "README: skipped, its name is not that of data") {
		t.Errorf("got the notes %q", notes)
	}
	s.expectItems("one", `{"id":{"S":"a"}}`, `{"id":{"S":"b"},"n":{"N":"1"}}`, `{"id":{"S":"c"},"n":{"S":"7"}}`)
	s.expectItems("two-prod", `{"id":{"N":"5"}}`)
	if ttl := s.must("DescribeTimeToLive", `{"TableName":"one"}`); !strings.Contains(ttl, `"AttributeName":"e"`) {
		t.Errorf("the time to live is %s", ttl)
	}
	// Again: the tables are kept.
	if totals := load(t, cfg, directory); totals.Items != 4 || len(totals.Created) != 0 {
		t.Errorf("got %+v", totals)
	}
}

func TestLoadMistakes(t *testing.T) {
	s, directory := newServer(t), t.TempDir()
	s.create("strings", "S")
	s.create("one", "N")
	f := func(name, content, want string, tables ...string) {
		t.Helper()
		path := write(t, directory, name, content)
		defer os.Remove(path)
		totals, err := Load(t.Context(), s.config(tables...), []string{path})
		if got := fmt.Sprint(err); !strings.Contains(got, strings.ReplaceAll(want, "PATH", path)) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if err := os.Remove(path + stateEnding); (err == nil) != (totals.Items > 0) {
			t.Errorf("%s: %d items were written, and the state is removed with %v", name, totals.Items, err)
		}
	}
	f("strings.json", `{"id":{"S":"a"}}`+"\n"+`{"id":{"N":"1"}}`, "PATH:2: the key attribute id is of type N, and of type S in the table strings")
	f("strings.json", "\n{\n", "PATH:2: the line is not a whole JSON value")
	f("strings.csv", "id,n\na\n", "PATH:2: the row has 1 fields")
	f("strings.ion", "{Item:{id:x}}", `PATH:1: the symbol "x" is no value`)
	f("strings.txt", "", "PATH: a name of data ends with .json")
	f("missing.json", `{"id":{"S":"a"}}`, "PATH: there is no table missing at "+s.http.URL+", and no description of it beside the file (missing.json)")
	f("one.json", schemaOf("one", "S"), "the table one exists at "+s.http.URL+" with another key: id N, and PATH has id S")
	f("x.schema.json", "{\n,}", "PATH:2: is not JSON")
	f("x.schema.json", `{"a":1}`, "PATH: is no description of a table")
	f("x.ttl.json", `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"e"}}`, "PATH: has a time to live, and there is no description")
	f("two.json", schemaOf("two", "S")+schemaOf("two", "S"), "PATH: there is more after the description")
	f("two.json", schemaOf("a", "S"), "two.json: is no description of a table: \"a\" is no name of a table", "")
	if _, err := Load(t.Context(), s.config(), []string{directory}); err == nil || !strings.Contains(err.Error(), "there is nothing to load") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(t.Context(), s.config("a", "b"), []string{directory}); err == nil {
		t.Error("a load into two tables is possible")
	}
	// Compressed files that are cut.
	whole := write(t, directory, "strings.json.gz", strings.Repeat(`{"id":{"S":"a"}}`+"\n", 10))
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(whole)
	write(t, directory, "strings.json", string(content[:len(content)-4]))
	if _, err := Load(t.Context(), s.config(), []string{filepath.Join(directory, "strings.json")}); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("got %v", err)
	}
}

// The last of several items with one key wins, however they are spread over batches.
func TestOrderOfEqualKeys(t *testing.T) {
	s := newServer(t)
	s.create("one", "S")
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, `{"id":{"S":"%d"},"n":{"N":"%d"}}`+"\n", i%7, i)
	}
	var want []string
	for i := range 7 {
		n := 1999 - (1999-i)%7
		want = append(want, fmt.Sprintf(`{"id":{"S":"%d"},"n":{"N":"%d"}}`, i, n))
	}
	if totals := load(t, s.config(), write(t, t.TempDir(), "one.json", text.String())); totals.Items != 2000 {
		t.Errorf("got %+v", totals)
	}
	s.expectItems("one", want...)
}

// numbered returns a file of n items with the ids from 0 on.
func numbered(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"Item":{"id":{"N":"%d"},"text":{"S":"%s"}}}`+"\n", i, strings.Repeat("x", 50))
	}
	return text.String()
}

// numberedItems returns the items of such a file.
func numberedItems(n int) (list []string) {
	for line := range strings.Lines(numbered(n)) {
		list = append(list, strings.TrimSuffix(strings.TrimPrefix(line, `{"Item":`), "}\n"))
	}
	return list
}

// Items that the store refuses are found in their batch, and reported with their place.
func TestKeepGoing(t *testing.T) {
	s := newServer(t)
	s.must("CreateTable", `{"TableName":"one","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],`+
		`"GlobalSecondaryIndexes":[{"IndexName":"index","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`)
	path := write(t, t.TempDir(), "one.json", `{"id":{"S":"a"}}
{"id":{"S":"b"},"g":{"N":"1"}}
{"id":{"S":"c"},"g":{"S":"x"}}
nothing
{"id":{"S":"d"}}
`)
	_, err := Load(t.Context(), s.config(), []string{path})
	if err == nil || !strings.HasPrefix(err.Error(), path+":2: One or more parameter values were invalid") {
		t.Errorf("got %v", err)
	}
	cfg := s.config()
	cfg.KeepGoing = true
	var reports []string
	cfg.Report = func(m string) { reports = append(reports, strings.TrimPrefix(m, path)) }
	totals := load(t, cfg, path)
	slices.Sort(reports)
	if len(reports) != 2 || !strings.HasPrefix(reports[0], ":2: One or more parameter values were invalid: Type mismatch for Index Key g") ||
		!strings.HasPrefix(reports[1], ":4: the line is not") {
		t.Errorf("got %q", reports)
	}
	if totals.Items+totals.Skipped != 3 || totals.Failed != 2 {
		t.Errorf("got %+v", totals)
	}
	s.expectItems("one", `{"id":{"S":"a"}}`, `{"id":{"S":"c"},"g":{"S":"x"}}`, `{"id":{"S":"d"}}`)
}

// A load whose store fails continues after the part that was acknowledged.
func TestResumedLoad(t *testing.T) {
	s, directory := newServer(t), t.TempDir()
	write(t, directory, "one.json", schemaOf("one", "N"))
	write(t, directory, "one.items.json.gz", numbered(3000))
	write(t, directory, "two.json", schemaOf("two", "N"))
	write(t, directory, "two.items.json", numbered(100))
	var batches atomic.Int64
	s.intercept(func(operation string, _ []byte) (int, string) {
		if operation == "BatchWriteItem" && batches.Add(1) > 60 {
			return 500, `{"__type":"x#InternalServerError"}`
		}
		return 0, ""
	})
	cfg := s.config()
	cfg.GiveUp = time.Nanosecond
	first, err := Load(t.Context(), cfg, []string{directory})
	if err == nil || !strings.Contains(err.Error(), "BatchWriteItem: given up") {
		t.Fatalf("got %v", err)
	}
	// Requests that are in flight when the first one fails are abandoned.
	if first.Items > 60*25 || first.Items < 50*25 {
		t.Errorf("got %+v", first)
	}
	s.intercept(nil)
	second := load(t, s.config(), directory)
	// The acknowledged items before the first gap are skipped. A worker is at most a queue and a
	// batch behind, which is a fraction of the items that the first run has written.
	if second.Skipped < 100 || second.Skipped > first.Items || second.Items+second.Skipped != 3100 {
		t.Errorf("first %+v, then %+v", first, second)
	}
	s.expectItems("one", numberedItems(3000)...)
	s.expectItems("two", numberedItems(100)...)
	if list := names(t, directory); len(list) != 4 {
		t.Errorf("there are the files %q", list)
	}
}

// A run with other settings does not use the state: it may write other items.
func TestLoadWithOtherSettings(t *testing.T) {
	s := newServer(t)
	s.create("one", "N")
	path := write(t, t.TempDir(), "one.csv", "id,n\n"+strings.Repeat("1,2\n", 500)+"x\n")
	if _, err := Load(t.Context(), s.config(), []string{path}); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(path + stateEnding); err != nil {
		t.Fatal(err)
	}
	cfg := s.config()
	cfg.KeepGoing, cfg.CSV.Types = true, map[string]string{"n": "N"}
	var reports []string
	cfg.Report = func(m string) { reports = append(reports, m) }
	if totals := load(t, cfg, path); totals.Skipped != 0 || totals.Items != 500 || totals.Failed != 1 {
		t.Errorf("got %+v", totals)
	}
	if len(reports) != 2 || !strings.Contains(reports[0], "is the state of a run with other settings; this one begins anew") {
		t.Errorf("got %q", reports)
	}
	s.expectItems("one", `{"id":{"N":"1"},"n":{"N":"2"}}`)
}

// A file that has changed is loaded from its beginning.
func TestChangedFileIsLoadedAgain(t *testing.T) {
	s, directory := newServer(t), t.TempDir()
	s.create("one", "N")
	path := write(t, directory, "one.items.json", numbered(200)+"x\n")
	if totals, err := Load(t.Context(), s.config(), []string{path}); err == nil || totals.Items != 200 {
		t.Fatalf("got %+v, %v", totals, err) // the items before the mistake are written
	}
	write(t, directory, "one.items.json", numbered(200))
	cfg := s.config()
	var reports []string
	cfg.Report = func(m string) { reports = append(reports, m) }
	if totals := load(t, cfg, path); totals.Skipped != 0 || totals.Items != 200 {
		t.Errorf("got %+v", totals)
	}
	if len(reports) != 1 || !strings.Contains(reports[0], "has changed since the run that was not complete") {
		t.Errorf("got %q", reports)
	}
}

// Requests that are not processed are sent again, and those of a batch that throttles.
func TestUnprocessedItems(t *testing.T) {
	s := newServer(t)
	s.create("one", "N")
	var n atomic.Int64
	s.intercept(func(operation string, body []byte) (int, string) {
		if operation != "BatchWriteItem" {
			return 0, ""
		}
		switch n.Add(1) % 3 {
		case 0:
			return 400, `{"__type":"x#ProvisionedThroughputExceededException","message":"slow"}`
		case 1: // the first request alone is processed
			text := string(body)
			i := strings.Index(text, `},{"PutRequest"`)
			if i < 0 {
				return 0, ""
			}
			s.must("BatchWriteItem", text[:i+1]+"]}}")
			return 200, `{"UnprocessedItems":{"one":[` + strings.TrimSuffix(text[i+2:], "}}") + `}}`
		}
		return 0, ""
	})
	totals := load(t, s.config(), write(t, t.TempDir(), "one.json", numbered(400)))
	if totals.Items != 400 || totals.Retries < 100 {
		t.Errorf("got %+v", totals)
	}
	s.expectItems("one", numberedItems(400)...)
}
