package transfer

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// server is an embedded store behind HTTP.
type server struct {
	t     testing.TB
	store *embedded.Store
	http  *httptest.Server
	own   *Endpoint

	mu sync.Mutex
	// answer, if not nil, may answer a request in place of the store: with a status other
	// than 0.
	answer func(operation string, body []byte) (status int, text string)
	counts map[string]int // requests by operation
}

func newServer(t testing.TB) *server {
	t.Helper()
	store, err := embedded.Open(memory.New(), embedded.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, store: store, counts: map[string]int{}}
	s.http = httptest.NewServer(s)
	if s.own, err = NewEndpoint(s.http.URL, "us-east-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.http.Close()
		store.Close()
	})
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.mu.Lock()
	s.counts[operation]++
	answer := s.answer
	s.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=") {
		s.t.Errorf("%s has no signature", operation)
	}
	if answer != nil {
		if status, text := answer(operation, body); status != 0 {
			w.WriteHeader(status)
			io.WriteString(w, text)
			return
		}
	}
	status, text := s.do(operation, string(body))
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// do executes an operation.
func (s *server) do(operation, body string) (status int, answer string) {
	resp, err := s.store.Do(&embedded.Request{Method: "POST", Path: "/", Target: []byte("DynamoDB_20120810." + operation), Body: []byte(body)})
	if err != nil {
		return 500, `{"__type":"InternalServerError"}`
	}
	return resp.Status, string(resp.Body)
}

// must executes an operation that succeeds.
func (s *server) must(operation, body string) string {
	s.t.Helper()
	status, answer := s.do(operation, body)
	if status != 200 {
		s.t.Fatalf("%s %s: %d %s", operation, body, status, answer)
	}
	return answer
}

// intercept sets the function that may answer requests.
func (s *server) intercept(f func(operation string, body []byte) (status int, text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// count returns the number of requests with an operation.
func (s *server) count(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[operation]
}

// config returns settings for the server, whose messages are errors of the test.
func (s *server) config(tables ...string) *Config {
	return &Config{Endpoint: s.own, Tables: tables, GiveUp: time.Minute, Report: func(m string) { s.t.Errorf("reported: %s", m) }}
}

// create creates a table with a hash key id, of a type.
func (s *server) create(table, typ string) {
	s.t.Helper()
	s.must("CreateTable", `{"TableName":"`+table+`","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"`+typ+`"}]}`)
}

// items returns all items of a table in canonical form, sorted.
func (s *server) items(table string) (list []string) {
	s.t.Helper()
	body := []byte(`{"TableName":"` + table + `","ConsistentRead":true`)
	for start := ""; ; {
		answer := []byte(s.must("Scan", string(body)+start+"}"))
		items, _ := wire.Lookup(answer, "Items")
		for it := wire.Array(items); it.Next(); {
			text, ok := wire.AppendCanonicalItem(nil, it.Value())
			if !ok {
				s.t.Fatalf("%s is no item", it.Value())
			}
			list = append(list, string(text))
		}
		key, more := wire.Lookup(answer, "LastEvaluatedKey")
		if !more {
			slices.Sort(list)
			return list
		}
		start = `,"ExclusiveStartKey":` + string(key)
	}
}

// expectItems compares the items of a table.
func (s *server) expectItems(table string, want ...string) {
	s.t.Helper()
	for i, text := range want {
		c, ok := wire.AppendCanonicalItem(nil, []byte(text))
		if !ok {
			s.t.Fatalf("%s is no item", text)
		}
		want[i] = string(c)
	}
	slices.Sort(want)
	if got := s.items(table); !slices.Equal(got, want) {
		s.t.Errorf("%s has the items\n%s\nwant\n%s", table, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// write writes a file in a directory, compressed if its name ends with .gz, and returns its path.
func write(t testing.TB, directory, name, content string) string {
	t.Helper()
	path := filepath.Join(directory, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, content)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		content = b.String()
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// names returns the paths of all files below a directory, relative to it.
func names(t testing.TB, directory string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(directory, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			relative, _ := filepath.Rel(directory, path)
			list = append(list, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
