package local

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// fixture has namespaces, and counts the stores that were opened.
type fixture struct {
	*Namespaces
	t      *testing.T
	opened atomic.Int64
	broken error // of every store to be opened
}

// newFixture returns the namespaces of a directory, in memory if it is empty.
func newFixture(t *testing.T, dir string, maximum, maxOpen int) *fixture {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	f := &fixture{t: t}
	n, err := NewNamespaces(NamespacesConfig{
		Region: "us-east-1", Dir: dir, Max: maximum, MaxOpen: maxOpen, Log: log,
		Open: func(dir, region string) (*embedded.Store, error) {
			f.opened.Add(1)
			if f.broken != nil {
				return nil, f.broken
			}
			var db kv.DB = memory.New()
			if dir != "" {
				var err error
				if db, err = disk.Open(dir, disk.Options{NoSync: true, Log: log}); err != nil {
					return nil, err
				}
			}
			return embedded.Open(db, embedded.Config{Region: region}, log)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Namespaces = n
	t.Cleanup(n.Close)
	return f
}

// ask sends a request and returns its status and body.
func (f *fixture) ask(namespace, operation, body string) string {
	f.t.Helper()
	resp, err := f.Do(f.t.Context(), &origin.Request{
		Method: "POST", Path: "/", Body: []byte(body), Namespace: namespace,
		Header: http1.FieldsOf("X-Amz-Target", "DynamoDB_20120810."+operation, "Content-Type", "application/x-amz-json-1.0"),
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", resp.Status, resp.Body)
}

func (f *fixture) create(namespace, table string) {
	f.t.Helper()
	if got := f.ask(namespace, "CreateTable", `{"TableName":"`+table+`","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`); !strings.HasPrefix(got, "200 ") {
		f.t.Fatalf("CreateTable in %s: got %s", namespace, got)
	}
}

// expectTables checks the answer to ListTables, a list without its brackets.
func (f *fixture) expectTables(namespace, list string) {
	f.t.Helper()
	if got, want := f.ask(namespace, "ListTables", "{}"), `200 {"TableNames":[`+list+`]}`; got != want {
		f.t.Errorf("tables of %s: got %s; want %s", namespace, got, want)
	}
}

func (f *fixture) expectNames(want ...string) {
	f.t.Helper()
	got := []string{}
	for _, name := range f.Names() {
		got = append(got, name.String())
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("got namespaces %q; want %q", got, want)
	}
}

// TestNamespaces checks in memory and on disk that namespaces share nothing, and on disk that they
// survive a restart.
func TestNamespaces(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, dir, 10, 2) // less than are used, so that some are closed and opened again
			for i, namespace := range []string{"a/us-east-1", "A/us-east-1", "a/eu-west-1", "/"} {
				f.create(namespace, fmt.Sprintf("tab%d", i))
			}
			check := func() {
				t.Helper()
				f.expectTables("A/us-east-1", `"tab1"`)
				f.expectTables("/", `"tab3"`)
				f.expectTables("a/us-east-1", `"tab0"`)
				f.expectTables("a/eu-west-1", `"tab2"`)
				f.expectNames("/us-east-1", "A/us-east-1", "a/eu-west-1", "a/us-east-1")
			}
			check()
			if got := f.ask("a/eu-west-1", "DescribeTable", `{"TableName":"tab2"}`); !strings.Contains(got, "arn:aws:dynamodb:eu-west-1:000000000000:table/tab2") {
				t.Errorf("the ARN has another region: %s", got)
			}
			if dir == "" {
				if f.opened.Load() != 4 {
					t.Errorf("%d stores were opened", f.opened.Load())
				}
				return
			}
			if n := f.open; n > 2 {
				t.Errorf("%d stores are open", n)
			}
			f.Close()
			f = newFixture(t, dir, 10, 2)
			check()
		})
	}
}

// TestRefusedNamespaces checks the answers to requests that reach no store.
func TestRefusedNamespaces(t *testing.T) {
	f := newFixture(t, "", 1, 1)
	f.expectTables("a/r", "")
	for namespace, want := range map[string]string{
		"b/r":        `400 {"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"There are 1 namespaces already`,
		"a b/r":      `400 {"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"The security token included in the request is invalid: an access key ID has`,
		"/r":         `400 {"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"The security token included in the request is invalid: an access key ID has`,
		"a/../../..": `400 {"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"The security token included in the request is invalid: a region has`,
	} {
		if got := f.ask(namespace, "ListTables", "{}"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s; want %s", namespace, got, want)
		}
	}
	f.expectNames("a/r")
	f.broken = errors.New("no disk")
	if err := f.Reset(Namespace{"a", "r"}); err != nil {
		t.Error(err)
	}
	if got := f.ask("b/r", "ListTables", "{}"); !strings.HasPrefix(got, `500 {"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"`) {
		t.Errorf("a store that can't be opened: got %s", got)
	}
	f.expectNames()
	f.broken = nil
	f.expectTables("b/r", "") // the failure does not count
	f.Close()
	if got := f.ask("b/r", "ListTables", "{}"); !strings.Contains(got, embedded.ErrClosed.Error()) {
		t.Errorf("after Close: got %s", got)
	}
	if got := f.ask("c/r", "ListTables", "{}"); !strings.Contains(got, "LimitExceededException") {
		t.Errorf("after Close: got %s", got)
	}
}

// TestReset checks that a reset removes namespaces without snapshots, also their directories.
func TestReset(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, dir, 10, 10)
			for _, namespace := range []string{"a/r", "b/r", "c/r"} {
				f.create(namespace, "tab")
			}
			if err := f.Use(Namespace{"b", "r"}, func(s *embedded.Store) error { return s.Save("kept") }); err != nil {
				t.Fatal(err)
			}
			if err := f.Reset(Namespace{"a", "r"}); err != nil {
				t.Error(err)
			}
			f.expectNames("b/r", "c/r")
			if err := f.Reset(Namespace{"a", "r"}); !errors.Is(err, ErrNoNamespace) {
				t.Errorf("a second reset: got %v", err)
			}
			if err := f.ResetAll(); err != nil {
				t.Error(err)
			}
			f.expectNames("b/r")
			f.expectTables("b/r", "")
			if dir != "" {
				if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !slices.Equal(left, []string{filepath.Join(dir, "b_r")}) {
					t.Errorf("directories: %v, %v", left, err)
				}
			}
			f.create("a/r", "other")
			f.expectTables("a/r", `"other"`)
			if err := f.Use(Namespace{"b", "r"}, func(s *embedded.Store) error { return s.Restore("kept") }); err != nil {
				t.Error(err)
			}
			f.expectTables("b/r", `"tab"`)
		})
	}
}

// TestForeignDirectories checks that a start ignores directories that are not of namespaces, and
// completes removals.
func TestForeignDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a_r", "B_r", "snapshots", "b_r.removed", "c.removed"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "d_r"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newFixture(t, dir, 10, 10).expectNames("a/r")
	var left []string
	for _, name := range []string{"B_r", "b_r.removed", "c.removed", "snapshots"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			left = append(left, name)
		}
	}
	if !slices.Equal(left, []string{"B_r", "c.removed", "snapshots"}) {
		t.Errorf("left: %v", left)
	}
}

// TestConcurrentNamespaces creates namespaces from many goroutines, while few may be open and some
// are reset: a store is opened once at a time, and no acknowledged table is lost.
func TestConcurrentNamespaces(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		f := newFixture(t, t.TempDir(), 10, 10)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { f.expectTables("a/r", "") })
		}
		all.Wait()
		if n := f.opened.Load(); n != 1 {
			t.Errorf("the store was opened %d times", n)
		}
	})
	t.Run("many", func(t *testing.T) {
		f := newFixture(t, t.TempDir(), 100, 1)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range 4 {
					f.create(fmt.Sprintf("k%d/r", j), fmt.Sprintf("tab%d", i))
					f.ask("scratch/r", "ListTables", "{}")
					if err := f.Reset(Namespace{"scratch", "r"}); err != nil && !errors.Is(err, ErrNoNamespace) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if err := f.Reset(Namespace{"scratch", "r"}); err != nil && !errors.Is(err, ErrNoNamespace) {
			t.Error(err) // resets at the same time may each have left it to the other
		}
		for j := range 4 {
			f.expectTables(fmt.Sprintf("k%d/r", j), `"tab0","tab1","tab2","tab3"`)
		}
		f.expectNames("k0/r", "k1/r", "k2/r", "k3/r")
		if f.open > 1 {
			t.Errorf("%d stores are open", f.open)
		}
	})
}

// TestForEach checks that all namespaces are visited and all errors returned, with their names.
func TestForEach(t *testing.T) {
	names := make([]Namespace, 3*atOnce)
	for i := range names {
		names[i] = Namespace{fmt.Sprintf("k%d", i), "r"}
	}
	visited := make([]Namespace, len(names))
	broken := errors.New("broken")
	err := ForEach(names, func(i int, name Namespace) error {
		visited[i] = name
		if i == 1 || i == 20 {
			return broken
		}
		return nil
	})
	if !slices.Equal(visited, names) {
		t.Errorf("visited %v", visited)
	}
	if want := "namespace k1/r: broken\nnamespace k20/r: broken"; err == nil || err.Error() != want || !errors.Is(err, broken) {
		t.Errorf("got %v; want %s", err, want)
	}
	if err := ForEach(nil, nil); err != nil {
		t.Error(err)
	}
}
