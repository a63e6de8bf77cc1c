package kasokutest

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/memory"
)

// TB is the part of [testing.TB] that a store needs.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Store is a DynamoDB-compatible store in memory.
type Store struct {
	store  *embedded.Store
	region string

	mu       sync.Mutex
	endpoint *endpoint // nil until Endpoint is called
}

// Option changes a new store.
type Option func(*embedded.Config)

// Region sets the region of the store, which its ARNs and its clients have. Without it the
// region is us-east-1.
func Region(name string) Option { return func(c *embedded.Config) { c.Region = name } }

// StreamShards sets the number of shards of a new stream. Without it a stream has one.
func StreamShards(n int) Option { return func(c *embedded.Config) { c.StreamShards = n } }

// New returns an empty store, for example for TestMain. The caller closes it.
func New(options ...Option) (*Store, error) {
	cfg := embedded.Config{Region: "us-east-1"}
	for _, o := range options {
		o(&cfg)
	}
	s, err := embedded.Open(memory.New(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("kasokutest: %w", err)
	}
	return &Store{store: s, region: cfg.Region}, nil
}

// Start returns an empty store, which is closed when the test and its subtests end.
func Start(t TB, options ...Option) *Store {
	t.Helper()
	s, err := New(options...)
	return attach(t, s, err)
}

// Fork returns a store that begins with the tables, items and streams of s, and is closed when
// the test and its subtests end. Later changes of one are not seen in the other. Both share
// the memory of all that is unchanged.
func (s *Store) Fork(t TB) *Store {
	t.Helper()
	fork, err := s.store.Fork()
	if err != nil {
		err = fmt.Errorf("kasokutest: fork: %w", err)
	}
	return attach(t, &Store{store: fork, region: s.region}, err)
}

// attach makes a test close a new store.
func attach(t TB, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Close closes the store. Later requests fail. Close may be called several times.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endpoint != nil {
		s.endpoint.close()
		s.endpoint = nil
	}
	s.store.Close()
}

// Reset removes all tables and streams. Snapshots are kept.
func (s *Store) Reset() error { return s.store.Reset() }

// Snapshot keeps the whole store under a name: up to 64 letters, digits, dots, hyphens and
// underscores. It replaces an earlier snapshot of that name.
func (s *Store) Snapshot(name string) error { return s.store.Save(name) }

// Restore makes the store as it was when the snapshot was taken. It waits for requests in
// progress, and later ones wait for it.
func (s *Store) Restore(name string) error { return s.store.Restore(name) }

// Do executes one request of DynamoDB's JSON protocol, for example
//
//	s.Do("GetItem", []byte(`{"TableName":"orders","Key":{"id":{"S":"7"}}}`))
//
// and returns the HTTP status and the JSON of the answer. It returns an error only if the
// store is closed, or a fault ends the request without an answer: syscall.ECONNRESET.
func (s *Store) Do(operation string, body []byte) (status int, answer []byte, err error) {
	a, err := s.store.Do(&embedded.Request{Method: "POST", Path: "/", Target: []byte("DynamoDB_20120810." + operation), Body: body})
	if err == nil && a.Reset {
		err = errReset
	}
	return a.Status, a.Body, err
}
