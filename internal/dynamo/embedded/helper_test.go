package embedded

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// onDisk configures a store in a directory.
type onDisk struct {
	Config
	Dir    string
	NoSync bool
	fs     disk.FS // nil for the operating system's
}

// open opens the store, and its directory, with Open or open.
func (c onDisk) open(log *slog.Logger, open func(kv.DB, Config, *slog.Logger) (*Store, error)) (*Store, error) {
	db, err := disk.Open(c.Dir, disk.Options{NoSync: c.NoSync, Log: log, FS: c.fs})
	if err != nil {
		return nil, err
	}
	return open(db, c.Config, log)
}

// idle returns a function that opens a store without background work.
func idle(clock func() time.Time) func(kv.DB, Config, *slog.Logger) (*Store, error) {
	return func(db kv.DB, cfg Config, log *slog.Logger) (*Store, error) { return open(db, cfg, log, clock) }
}

// newStore opens a store in a temporary directory.
func newStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, onDisk{Dir: t.TempDir(), NoSync: true})
}

// newMemoryStore opens a store in memory.
func newMemoryStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(memory.New(), Config{}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// diskAndMemory runs f as a test with a store on disk and with one in memory.
func diskAndMemory(t *testing.T, f func(t *testing.T, s *Store)) {
	t.Run("disk", func(t *testing.T) { f(t, newStore(t)) })
	t.Run("memory", func(t *testing.T) { f(t, newMemoryStore(t)) })
}

// openStore opens a store that is closed when the test ends.
func openStore(t testing.TB, cfg onDisk) *Store {
	t.Helper()
	s, err := cfg.open(slog.New(slog.NewTextHandler(t.Output(), nil)), Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// openIdle opens a store without background work, with the given clock.
func openIdle(t testing.TB, cfg onDisk, clock func() time.Time) *Store {
	t.Helper()
	s, err := cfg.open(slog.New(slog.NewTextHandler(t.Output(), nil)), idle(clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// send sends a request and returns the answer.
func (s *Store) send(t testing.TB, op, body string) (status int, reply string) {
	t.Helper()
	prefix := "DynamoDB_20120810."
	for _, o := range wire.StreamOperations {
		if o.Name == op {
			prefix = "DynamoDBStreams_20120810."
		}
	}
	resp, err := s.Do(&Request{
		Method: "POST", Path: "/", Target: []byte(prefix + op), Body: []byte(body),
	})
	if err != nil {
		t.Fatalf("%s %s: %v", op, body, err)
	}
	return resp.Status, string(resp.Body)
}

// mustSend sends a request that must succeed and returns the reply.
func (s *Store) mustSend(t testing.TB, op, body string) string {
	t.Helper()
	status, reply := s.send(t, op, body)
	if status != 200 {
		t.Fatalf("%s %s: got %d %s", op, body, status, reply)
	}
	return reply
}

// expectError sends a request that must fail with the error type and message.
func (s *Store) expectError(t testing.TB, op, body, typ, message string) {
	t.Helper()
	status, reply := s.send(t, op, body)
	want := wire.Error{Type: typ, Message: message}
	text := string(want.Append(nil))
	if status != want.Status() || !strings.HasPrefix(reply, text[:len(text)-1]) {
		t.Errorf("%s %s:\ngot  %d %s\nwant %d %s", op, body, status, reply, want.Status(), text)
	}
}

// openForProcess opens a store in a process of its own.
func openForProcess(dir string) (*Store, error) {
	return onDisk{Dir: dir}.open(slog.New(slog.NewTextHandler(os.Stderr, nil)), Open)
}
