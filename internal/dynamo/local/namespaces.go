package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
)

// NamespacesConfig configures Namespaces.
type NamespacesConfig struct {
	// Region is that of requests without a signature.
	Region string
	// Dir is the directory that has a directory for each namespace. It must exist. Empty:
	// the stores are in memory.
	Dir string
	// Open opens the store of a namespace. dir is its directory, empty for one in memory.
	Open func(dir, region string) (*embedded.Store, error)
	// Max is the maximum number of namespaces.
	Max int
	// MaxOpen is the number of open stores with a directory above which idle ones are closed.
	MaxOpen int
	Log     *slog.Logger
}

// Namespaces has a store for each namespace. A store is created by the first request to it. It
// is an origin that sends a request to the store of its Namespace.
type Namespaces struct {
	cfg NamespacesConfig

	mu     sync.Mutex
	all    map[Namespace]*namespace
	open   int    // number of open stores
	uses   uint64 // number of uses of all stores
	closed bool

	requests, inFlight atomic.Int64
}

// namespace is a namespace with its store.
type namespace struct {
	name Namespace
	// opening is held while the store is opened, closed or removed.
	opening sync.Mutex
	store   *embedded.Store // nil: it is not open; guarded by opening

	// Namespaces.mu guards these.
	users  int    // requests that use the store or wait for it
	used   uint64 // Namespaces.uses at the last use
	isOpen bool
	exists bool // it is kept when it is not used
}

// Errors of Namespaces.
var (
	ErrNoNamespace       = errors.New("there is no such namespace")
	errTooManyNamespaces = errors.New("too many namespaces")
)

// NewNamespaces returns the namespaces of a directory, or none in memory. No store is opened.
func NewNamespaces(cfg NamespacesConfig) (*Namespaces, error) {
	n := &Namespaces{cfg: cfg, all: map[Namespace]*namespace{}}
	if cfg.Dir == "" {
		return n, nil
	}
	names, err := listDirectories(cfg.Dir, cfg.Log)
	for _, name := range names {
		n.all[name] = &namespace{name: name, exists: true}
	}
	return n, err
}

// Do executes a request in the store of its namespace.
func (n *Namespaces) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	n.requests.Add(1)
	n.inFlight.Add(1)
	defer n.inFlight.Add(-1)
	name, err := n.nameOf(r)
	if err != nil {
		return refusal(r, &wire.Error{Type: "UnrecognizedClientException", Message: "The security token included in the request is invalid: " + err.Error() + "."}), nil
	}
	ns, store, err := n.acquire(name, true)
	switch {
	case errors.Is(err, errTooManyNamespaces):
		return refusal(r, &wire.Error{Type: "LimitExceededException", Message: fmt.Sprintf(
			"There are %d namespaces already, one for each access key and region, and no more are created. 'kasoku store reset' removes all of them.", n.cfg.Max)}), nil
	case errors.Is(err, embedded.ErrClosed):
		return nil, &origin.Fault{Origin: "embedded", Kind: origin.Unprepared, Err: err}
	case err != nil:
		n.cfg.Log.Error("embedded store: a namespace can't be opened", "namespace", name.String(), "error", err)
		return refusal(r, &wire.Error{Type: "InternalServerError", Message: "The store of this access key and region can't be opened. The log has the reason."}), nil
	}
	defer n.release(ns)
	return Origin{store}.Do(ctx, r)
}

// nameOf returns the namespace of a request. Requests without a signature have that of the
// configured region, without a key.
func (n *Namespaces) nameOf(r *origin.Request) (Namespace, error) {
	if r.Namespace == "/" {
		return Namespace{Region: n.cfg.Region}, nil
	}
	name, err := ParseNamespace(r.Namespace)
	if err == nil && name.Key == "" {
		err = ErrKey
	}
	return name, err
}

// refusal returns the answer to a request that reaches no store.
func refusal(r *origin.Request, e *wire.Error) *origin.Response {
	a := embedded.Answer{Status: e.Status(), ContentType: typeJSON, HasChecksum: true, Body: e.Append(nil)}
	if bytes.HasPrefix(r.Header.Get("Content-Type"), typePlain) {
		a.ContentType = typePlain
	}
	a.Checksum = crc32.ChecksumIEEE(a.Body)
	return response(&a, 0)
}

var (
	typeJSON  = []byte("application/x-amz-json-1.0")
	typePlain = []byte("application/json")
)

// acquire returns a namespace and its store, which is open until the namespace is released or all
// are closed. A new namespace is created only if create is set; otherwise the error is
// ErrNoNamespace.
func (n *Namespaces) acquire(name Namespace, create bool) (*namespace, *embedded.Store, error) {
	ns, err := n.enter(name, create)
	if err != nil {
		return nil, nil, err
	}
	store, opened, err := n.openStore(ns)
	if err != nil {
		n.release(ns)
		return nil, nil, err
	}
	if opened {
		n.closeIdle()
	}
	return ns, store, nil
}

// enter counts a user of a namespace, whose store may not be open.
func (n *Namespaces) enter(name Namespace, create bool) (*namespace, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ns := n.all[name]
	switch {
	case ns != nil:
	case !create:
		return nil, fmt.Errorf("%w: %s", ErrNoNamespace, name)
	case len(n.all) >= n.cfg.Max:
		return nil, errTooManyNamespaces
	default:
		ns = &namespace{name: name}
		n.all[name] = ns
	}
	n.uses++
	ns.used = n.uses
	ns.users++
	return ns, nil
}

// release ends a use.
func (n *Namespaces) release(ns *namespace) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ns.users--; ns.users == 0 && !ns.exists {
		delete(n.all, ns.name)
	}
}

// openStore returns the store of a namespace that has been entered, and whether it was opened for
// that.
func (n *Namespaces) openStore(ns *namespace) (store *embedded.Store, opened bool, err error) {
	ns.opening.Lock()
	defer ns.opening.Unlock()
	if ns.store != nil {
		return ns.store, false, nil
	}
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if closed {
		return nil, false, embedded.ErrClosed
	}
	store, err = n.cfg.Open(n.path(ns.name), ns.name.Region)
	if err != nil {
		return nil, false, err
	}
	ns.store = store
	n.mu.Lock()
	defer n.mu.Unlock()
	ns.isOpen, ns.exists = true, true
	n.open++
	return store, true, nil
}

// closeStore closes the store of a namespace, if it is open. The caller holds opening.
func (n *Namespaces) closeStore(ns *namespace) {
	if ns.store == nil {
		return
	}
	ns.store.Close()
	ns.store = nil
	n.mu.Lock()
	defer n.mu.Unlock()
	ns.isOpen = false
	n.open--
}

// closeIdle closes the stores that were not used for the longest time, while too many are open.
// Stores in memory remain open.
func (n *Namespaces) closeIdle() {
	if n.cfg.Dir == "" {
		return
	}
	for ns := n.enterIdle(); ns != nil; ns = n.enterIdle() {
		n.closeUnused(ns)
		n.release(ns)
	}
}

// enterIdle enters the namespace to be closed next. It returns nil if there is none.
func (n *Namespaces) enterIdle() *namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open <= n.cfg.MaxOpen {
		return nil
	}
	var oldest *namespace
	for _, ns := range n.all {
		if ns.isOpen && ns.users == 0 && (oldest == nil || ns.used < oldest.used) {
			oldest = ns
		}
	}
	if oldest != nil {
		oldest.users++
	}
	return oldest
}

// closeUnused closes the store of an entered namespace that the caller alone uses.
func (n *Namespaces) closeUnused(ns *namespace) {
	ns.opening.Lock()
	defer ns.opening.Unlock()
	if n.alone(ns) {
		n.closeStore(ns)
	}
}

// alone reports whether only the caller uses a namespace. While the caller holds opening, others
// that enter it wait for that.
func (n *Namespaces) alone(ns *namespace) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return ns.users == 1
}

// Use calls f with the store of an existing namespace.
func (n *Namespaces) Use(name Namespace, f func(*embedded.Store) error) error {
	ns, store, err := n.acquire(name, false)
	if err != nil {
		return err
	}
	defer n.release(ns)
	return f(store)
}

// Reset removes the tables and streams of a namespace. Without snapshots the namespace itself is
// removed.
func (n *Namespaces) Reset(name Namespace) error {
	ns, store, err := n.acquire(name, false)
	if err != nil {
		return err
	}
	defer n.release(ns)
	if err := store.Reset(); err != nil {
		return err
	}
	return n.remove(ns)
}

// remove removes an entered namespace, unless it has snapshots, is used, or has tables that were
// created since.
func (n *Namespaces) remove(ns *namespace) error {
	ns.opening.Lock()
	defer ns.opening.Unlock()
	if ns.store == nil || !n.alone(ns) || len(ns.store.Tables()) > 0 {
		return nil
	}
	if saved, err := ns.store.Snapshots(); err != nil || len(saved) > 0 {
		return err
	}
	n.closeStore(ns)
	if n.cfg.Dir != "" {
		if err := removeDirectory(n.path(ns.name)); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	ns.exists = false
	return nil
}

// ResetAll resets all namespaces.
func (n *Namespaces) ResetAll() error {
	return ForEach(n.Names(), func(_ int, name Namespace) error {
		if err := n.Reset(name); !errors.Is(err, ErrNoNamespace) {
			return err
		}
		return nil
	})
}

// atOnce is the number of namespaces that ForEach visits at a time. To open a store on disk is
// mostly to wait for the disk.
const atOnce = 8

// ForEach calls f for each of the namespaces, several at a time, and returns all errors.
func ForEach(names []Namespace, f func(i int, name Namespace) error) error {
	errs := make([]error, len(names))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, name := range names {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := f(i, name); err != nil {
				errs[i] = fmt.Errorf("namespace %s: %w", name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Names returns the namespaces in order.
func (n *Namespaces) Names() []Namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := make([]Namespace, 0, len(n.all))
	for name, ns := range n.all {
		if ns.exists {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b Namespace) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Region, b.Region))
	})
	return names
}

// Len returns the number of namespaces.
func (n *Namespaces) Len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.all)
}

// State returns the numbers of all requests and of those in progress.
func (n *Namespaces) State() origin.State {
	all := uint64(n.requests.Load())
	return origin.State{Breaker: "disabled", InFlight: int(n.inFlight.Load()), Requests: all, Attempts: all}
}

// Close closes all stores. Later requests are refused.
func (n *Namespaces) Close() {
	n.mu.Lock()
	n.closed = true
	all := slices.Collect(maps.Values(n.all))
	n.mu.Unlock()
	for _, ns := range all {
		ns.opening.Lock()
		n.closeStore(ns)
		ns.opening.Unlock()
	}
}
