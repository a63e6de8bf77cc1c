package transfer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/anonymise"
)

// dump dumps tables without errors.
func dump(t testing.TB, cfg *Config, directory string) Totals {
	t.Helper()
	totals, err := Dump(t.Context(), cfg, directory)
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

// unzip returns the content of a compressed file.
func unzip(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	variable = regexp.MustCompile(`\d{14}-[0-9a-f]{8}|[a-z2-7]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z|"tableId":"[^"]*"|"md5Checksum":"[^"]*"|"etag":"[^"]*"`)
	exportOf = regexp.MustCompile(`AWSDynamoDB/(\d{14}-[0-9a-f]{8})/`)
)

// TestDump compares a dump with an export of AWS: its files, their members and their order.
func TestDump(t *testing.T) {
	s, directory := newServer(t), t.TempDir()
	extract(t, "full.txtar", directory)
	load(t, s.config(), directory)
	out := t.TempDir()
	cfg := s.config("ProductCatalog")
	cfg.Segments, cfg.Consistent = 1, true
	if totals := dump(t, cfg, out); totals.Items != 2 || !slices.Equal(totals.Tables, []string{"ProductCatalog"}) {
		t.Errorf("got %+v", totals)
	}
	list := names(t, out)
	root := exportRoot + "/" + exportOf.FindStringSubmatch(list[0])[1] + "/"
	data := ""
	for i, name := range list {
		if strings.Contains(name, "/data/") {
			data = name
		}
		list[i] = variable.ReplaceAllString(name, "X")
	}
	want := []string{"_started", "data/X.json.gz", "manifest-files.checksum", "manifest-files.json", "manifest-files.md5",
		"manifest-summary.checksum", "manifest-summary.json", "manifest-summary.md5"}
	for i := range want {
		want[i] = exportRoot + "/X/" + want[i]
	}
	if want = append(want, "ProductCatalog.json"); !slices.Equal(list, want) {
		t.Errorf("got the files\n%q\nwant\n%q", list, want)
	}
	items := strings.Split(unzip(t, filepath.Join(out, data)), "\n")
	slices.Sort(items)
	if want := []string{"", `{"Item":` + book + "}", `{"Item":` + volume + "}"}; !slices.Equal(items, want) {
		t.Errorf("got the items\n%q\nwant\n%q", items, want)
	}
	text := func(name string) string {
		content, err := os.ReadFile(filepath.Join(out, root+name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	const arn = "arn:aws:dynamodb:us-east-1:000000000000:table/ProductCatalog"
	if got, want := variable.ReplaceAllString(text("manifest-summary.json"), "X"), `{"version":"2020-06-30","exportArn":"`+arn+`/export/X","startTime":"X","endTime":"X",`+
		`"tableArn":"`+arn+`",X,"exportTime":"X","s3Bucket":"","s3Prefix":null,"s3SseAlgorithm":"AES256","s3SseKmsKeyId":null,`+
		`"manifestFilesS3Key":"AWSDynamoDB/X/manifest-files.json","billedSizeBytes":196,"itemCount":2,"outputFormat":"DYNAMODB_JSON"}`; got != want {
		t.Errorf("got the summary\n%s\nwant\n%s", got, want)
	}
	if got, want := variable.ReplaceAllString(text("manifest-files.json"), "X"), `{"itemCount":2,X,X,"dataFileS3Key":"AWSDynamoDB/X/data/X.json.gz"}`+"\n"; got != want {
		t.Errorf("got the files\n%s\nwant\n%s", got, want)
	}
	if text("manifest-summary.md5") != text("manifest-summary.checksum") || len(text("manifest-summary.md5")) != 24 {
		t.Errorf("the checksum is %s", text("manifest-summary.md5"))
	}
	// The ETag is that of a file in one part.
	var m manifestFile
	if err := json.Unmarshal([]byte(text("manifest-files.json")), &m); err != nil {
		t.Fatal(err)
	}
	sum, err := base64.StdEncoding.DecodeString(m.MD5Checksum)
	if err != nil || m.ETag != etagOf(sum) || len(m.ETag) != 2*len(sum)+2 || hex.EncodeToString(sum) == m.ETag[:32] {
		t.Errorf("got %+v, %v", m, err)
	}
	// What was dumped can be loaded.
	other := newServer(t)
	load(t, other.config(), out)
	other.expectItems("ProductCatalog", book, volume)
}

// fill creates a table with n items.
func (s *server) fill(table string, n int) {
	s.t.Helper()
	s.create(table, "N")
	load(s.t, s.config(), write(s.t, s.t.TempDir(), table+".json", numbered(n)))
}

func TestDumpAllTables(t *testing.T) {
	s, out, other := newServer(t), t.TempDir(), newServer(t)
	s.fill("one", 10)
	s.fill("two", 20)
	s.create("none", "S")
	if totals := dump(t, s.config(), out); totals.Items != 30 || strings.Join(totals.Tables, ",") != "none,one,two" {
		t.Errorf("got %+v", totals)
	}
	load(t, other.config(), out)
	other.expectItems("one", numberedItems(10)...)
	other.expectItems("two", numberedItems(20)...)
	other.expectItems("none")
	if _, err := Dump(t.Context(), s.config("missing"), out); err == nil || !strings.Contains(err.Error(), "there is no table missing at http://") {
		t.Errorf("got %v", err)
	}
}

// A dump whose store fails has no manifest. It is continued after the pages that it has.
func TestResumedDump(t *testing.T) {
	s, out := newServer(t), t.TempDir()
	s.create("one", "N")
	// Several pages of 1 MB in each segment.
	var text strings.Builder
	var want []string
	for n := range strings.Fields(strings.Repeat("x ", 16)) {
		item := `{"id":{"N":"` + string(rune('1'+n/10)) + string(rune('0'+n%10)) + `"},"text":{"S":"` + strings.Repeat("y", 200_000) + `"}}`
		text.WriteString(item + "\n")
		want = append(want, item)
	}
	load(t, s.config(), write(t, t.TempDir(), "one.json", text.String()))
	var scans atomic.Int64
	s.intercept(func(operation string, _ []byte) (int, string) {
		if operation == "Scan" && scans.Add(1) > 3 {
			return 500, `{"__type":"x#InternalServerError"}`
		}
		return 0, ""
	})
	cfg := s.config("one")
	cfg.Segments, cfg.GiveUp = 2, time.Nanosecond
	first, err := Dump(t.Context(), cfg, out)
	if err == nil || !strings.Contains(err.Error(), "table one: Scan: given up") {
		t.Fatalf("got %v", err)
	}
	// It is not complete, and load refuses it.
	if _, err := Load(t.Context(), s.config("two"), []string{out}); err == nil || !strings.Contains(err.Error(), "the export is not complete") {
		t.Errorf("got %v", err)
	}
	// A dump of other tables or segments must not continue it.
	other := s.config("one")
	if _, err := Dump(t.Context(), other, out); err == nil || !strings.Contains(err.Error(), "is the state of a run with other settings") {
		t.Errorf("got %v", err)
	}
	// A file that was not whole when a process was killed.
	for _, name := range names(t, out) {
		if strings.Contains(name, "/data/") {
			write(t, filepath.Dir(filepath.Join(out, name)), ".1.part", "x")
			break
		}
	}
	s.intercept(nil)
	begun := s.count("Scan")
	cfg = s.config("one")
	cfg.Segments = 2
	second := dump(t, cfg, out)
	if second.Skipped == 0 || first.Items != second.Skipped || second.Items+second.Skipped != 16 {
		t.Errorf("first %+v, then %+v", first, second)
	}
	if n := s.count("Scan") - begun; n > 6 {
		t.Errorf("the second run has sent %d scans", n)
	}
	for _, name := range names(t, out) {
		if strings.HasSuffix(name, ".part") || strings.HasSuffix(name, stateEnding) {
			t.Errorf("%s remains", name)
		}
	}
	load(t, s.config("two"), out)
	s.expectItems("two", want...)
}

// A state is of no use for a table that was deleted and created again.
func TestDumpOfAnotherTable(t *testing.T) {
	s, out := newServer(t), t.TempDir()
	s.fill("one", 10)
	s.intercept(func(operation string, _ []byte) (int, string) {
		if operation == "Scan" {
			return 400, `{"__type":"x#AccessDeniedException","message":"no"}`
		}
		return 0, ""
	})
	if _, err := Dump(t.Context(), s.config("one"), out); err == nil || err.Error() != "table one: Scan: AccessDeniedException: no" {
		t.Errorf("got %v", err)
	}
	s.intercept(nil)
	s.must("DeleteTable", `{"TableName":"one"}`)
	s.fill("one", 5)
	if _, err := Dump(t.Context(), s.config("one"), out); err == nil || !strings.Contains(err.Error(), "is another one than that of the dump") {
		t.Errorf("got %v", err)
	}
}

func TestCopy(t *testing.T) {
	from, to := newServer(t), newServer(t)
	from.fill("one", 500)
	from.fill("two", 50)
	from.must("UpdateTimeToLive", `{"TableName":"one","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"e"}}`)
	config := func(tables ...string) *Config {
		cfg := to.config(tables...)
		cfg.From = from.own
		return cfg
	}
	totals, err := Copy(t.Context(), config("one"))
	if err != nil || totals.Items != 500 || strings.Join(totals.Created, ",") != "one" {
		t.Errorf("got %+v, %v", totals, err)
	}
	to.expectItems("one", numberedItems(500)...)
	if ttl := to.must("DescribeTimeToLive", `{"TableName":"one"}`); !strings.Contains(ttl, `"AttributeName":"e"`) {
		t.Errorf("the time to live is %s", ttl)
	}
	if totals, err = Copy(t.Context(), config()); err != nil || totals.Items != 550 || strings.Join(totals.Tables, ",") != "one,two" {
		t.Errorf("got %+v, %v", totals, err)
	}
	to.expectItems("two", numberedItems(50)...)
	same := config()
	same.From = same.Endpoint
	if _, err := Copy(t.Context(), same); err == nil || !strings.Contains(err.Error(), "can't be copied into itself") {
		t.Errorf("got %v", err)
	}
	to.create("three", "S")
	from.create("three", "N")
	if _, err := Copy(t.Context(), config("three")); err == nil || !strings.Contains(err.Error(), "with another key: id S, and "+from.http.URL+" has id N") {
		t.Errorf("got %v", err)
	}
}

// A copy continues at the pages whose items are all written.
func TestResumedCopy(t *testing.T) {
	from, to := newServer(t), newServer(t)
	from.create("one", "N")
	var text strings.Builder
	for i := range 120 { // three pages, of 50 items at most
		fmt.Fprintf(&text, `{"id":{"N":"%d"},"text":{"S":"%s"}}`+"\n", i, strings.Repeat("x", 21_000))
	}
	load(t, from.config(), write(t, t.TempDir(), "one.json", text.String()))
	state := filepath.Join(t.TempDir(), "state")
	config := func() *Config {
		cfg := to.config("one")
		cfg.From, cfg.Segments, cfg.Parallel, cfg.State = from.own, 1, 1, state
		return cfg
	}
	var batches atomic.Int64
	to.intercept(func(operation string, _ []byte) (int, string) {
		if operation == "BatchWriteItem" && batches.Add(1) > 3 {
			return 400, `{"__type":"x#AccessDeniedException"}`
		}
		return 0, ""
	})
	if totals, err := Copy(t.Context(), config()); err == nil || !strings.Contains(err.Error(), "AccessDenied") || totals.Items != 75 {
		t.Fatalf("got %+v, %v", totals, err)
	}
	to.intercept(nil)
	totals, err := Copy(t.Context(), config())
	if err != nil || totals.Items < 70 || totals.Items > 71 { // a page has 49 or 50
		t.Errorf("got %+v, %v", totals, err)
	}
	if got, want := to.items("one"), from.items("one"); !slices.Equal(got, want) || len(got) != 120 {
		t.Errorf("there are %d items, want %d", len(got), len(want))
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("the state of the complete copy remains")
	}
}

// Values are replaced in a dump, a load and a copy alike, so that all of them fit together.
func TestAnonymise(t *testing.T) {
	rules, err := anonymise.Parse("rules.yaml", []byte("secret_env: SECRET\nrules:\n- {path: id, action: hash}\n- {path: text, action: remove}\n- {tables: other, path: id, action: mask}"),
		func(string) (string, bool) { return "0123456789abcdef", true })
	if err != nil {
		t.Fatal(err)
	}
	s, out := newServer(t), t.TempDir()
	s.fill("one", 100)
	with := func(cfg *Config) *Config {
		cfg.Rules = rules
		return cfg
	}
	dump(t, with(s.config("one")), out)
	loaded, copied, filed := newServer(t), newServer(t), newServer(t)
	load(t, loaded.config(), out)
	cfg := with(copied.config("one"))
	cfg.From = s.own
	if _, err := Copy(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	filed.create("one", "N")
	load(t, with(filed.config("one")), write(t, t.TempDir(), "x.json", numbered(100)))
	want := loaded.items("one")
	if len(want) != 100 || strings.Contains(want[0], "text") || !slices.Equal(copied.items("one"), want) || !slices.Equal(filed.items("one"), want) {
		t.Errorf("dumped %q\ncopied %q\nloaded %q", want, copied.items("one"), filed.items("one"))
	}
	s.create("other", "N")
	if _, err := Dump(t.Context(), with(s.config("other")), out); err == nil || !strings.HasPrefix(err.Error(), "rules.yaml:5:29: rules[2].action: id is a key attribute of the table other") {
		t.Errorf("got %v", err)
	}
}
