package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/local"
)

// The limits of namespaces. Of the ones on disk the others are closed while they are idle.
const (
	maxNamespaces     = 1000
	maxOpenNamespaces = 16
)

// namespacesDir is the directory of namespaces in that of the configuration, which may have
// another store, of clients that share their tables.
const namespacesDir = "namespaces"

// openNamespaces opens the namespaces of a configuration.
func (c *storeConfig) openNamespaces(log *slog.Logger) (*openStore, error) {
	open := &openStore{cfg: *c}
	nc := local.NamespacesConfig{
		Region: c.Region, Max: maxNamespaces, MaxOpen: maxOpenNamespaces, Log: log,
		Open: func(dir, region string) (*embedded.Store, error) { return c.openNamespace(dir, region, log) },
	}
	if c.dir != "" {
		var err error
		if open.lock, err = disk.Reserve(c.dir, namespacesDir); err != nil {
			return nil, err
		}
		nc.Dir = filepath.Join(c.dir, namespacesDir)
		if disk.HasStore(c.dir) {
			log.Warn("the directory also has a store of all clients, which is not used with namespaces: key", "dir", c.dir)
		}
	}
	var err error
	if open.namespaces, err = local.NewNamespaces(nc); err != nil {
		open.close()
		return nil, err
	}
	return open, nil
}

// openNamespace opens the store of one namespace.
func (c *storeConfig) openNamespace(dir, region string, log *slog.Logger) (*embedded.Store, error) {
	one := *c
	one.dir, one.Region = dir, region
	db, err := one.openDB(log)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		if err := disk.SyncDir(filepath.Dir(dir)); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return embedded.Open(db, one.Config, log)
}

// namespacesAdmin is the namespaces behind a service, for the admin API.
type namespacesAdmin struct {
	*local.Namespaces
	noFaults
}

var _ admin.Store = namespacesAdmin{}

// Reset implements admin.Store.
func (a namespacesAdmin) Reset(context.Context) error { return a.ResetAll() }

// Save implements admin.Store.
func (namespacesAdmin) Save(context.Context, string) error { return errWhichNamespace }

// Restore implements admin.Store.
func (namespacesAdmin) Restore(context.Context, string) error { return errWhichNamespace }

// Remove implements admin.Store.
func (namespacesAdmin) Remove(context.Context, string) error { return errWhichNamespace }

var errWhichNamespace = fmt.Errorf("%w: the service has a store for each access key and region, and snapshots are of one: name it, as KEY/REGION", admin.ErrInput)

// Contents implements admin.Store.
func (a namespacesAdmin) Contents(ctx context.Context) (admin.StoreContents, error) {
	names := a.Names()
	c := admin.StoreContents{Tables: []string{}, Snapshots: []admin.StoreSnapshot{}, Namespaces: make([]admin.StoreNamespace, len(names))}
	err := local.ForEach(names, func(i int, name local.Namespace) error {
		one, err := namespaceAdmin{all: a.Namespaces, name: name}.Contents(ctx)
		c.Namespaces[i] = admin.StoreNamespace{Name: name.String(), Tables: one.Tables, Snapshots: one.Snapshots}
		return err
	})
	return c, err
}

// Namespace implements admin.Store.
func (a namespacesAdmin) Namespace(name string) (admin.Store, error) {
	parsed, err := local.ParseNamespace(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", admin.ErrInput, name, err)
	}
	return namespaceAdmin{all: a.Namespaces, name: parsed}, nil
}

// namespaceAdmin is one namespace, for the admin API.
type namespaceAdmin struct {
	all  *local.Namespaces
	name local.Namespace
	noFaults
}

// Reset implements admin.Store.
func (a namespaceAdmin) Reset(context.Context) error {
	if err := a.all.Reset(a.name); !errors.Is(err, local.ErrNoNamespace) {
		return err
	}
	return nil
}

// Save implements admin.Store.
func (a namespaceAdmin) Save(_ context.Context, name string) error {
	return a.use(func(s *embedded.Store) error { return s.Save(name) })
}

// Restore implements admin.Store.
func (a namespaceAdmin) Restore(_ context.Context, name string) error {
	return a.use(func(s *embedded.Store) error { return s.Restore(name) })
}

// Remove implements admin.Store.
func (a namespaceAdmin) Remove(_ context.Context, name string) error {
	return a.use(func(s *embedded.Store) error { return s.Forget(name) })
}

// Contents implements admin.Store. A namespace without a store, to which no request was sent, is
// empty.
func (a namespaceAdmin) Contents(context.Context) (c admin.StoreContents, err error) {
	c = admin.StoreContents{Tables: []string{}, Snapshots: []admin.StoreSnapshot{}}
	err = a.all.Use(a.name, func(s *embedded.Store) error {
		c, err = storeContents(s)
		return err
	})
	if errors.Is(err, local.ErrNoNamespace) {
		err = nil
	}
	return c, err
}

// Namespace implements admin.Store.
func (a namespaceAdmin) Namespace(string) (admin.Store, error) { return nil, errNoNamespaces }

// use calls f with the store of the namespace.
func (a namespaceAdmin) use(f func(*embedded.Store) error) error {
	return inputError(a.all.Use(a.name, f))
}
