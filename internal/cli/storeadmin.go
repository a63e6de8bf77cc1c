package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/local"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// storeAdmin is the embedded store behind a service, for the admin API.
type storeAdmin struct {
	name     string
	service  *accel.Service
	sharing  []*accel.Service // all services with this store
	store    *embedded.Store
	registry *telemetry.Registry
}

var _ admin.Store = (*storeAdmin)(nil)

// embeddedStores returns the services with an embedded store.
func (n *Node) embeddedStores() map[service]admin.Store {
	configs := map[*dynamoService]storeConfig{}
	sharing := map[place][]*accel.Service{}
	n.mu.Lock()
	for _, m := range n.mounts {
		if d, ok := m.service.(*dynamoService); ok && m.cfg.DynamoDB.Origin.Embedded() {
			if sc, err := storeOf(n.cfg, &m.cfg); err == nil {
				configs[d] = sc
				sharing[sc.at] = append(sharing[sc.at], d.Service)
			}
		}
	}
	n.mu.Unlock() // before the lock of the stores
	all := map[service]admin.Store{}
	for d, sc := range configs {
		n.stores.use(sc.at, func(open *openStore) {
			if open.namespaces != nil {
				all[d] = namespacesAdmin{Namespaces: open.namespaces}
			} else {
				all[d] = &storeAdmin{d.Name(), d.Service, sharing[sc.at], open.store, n.registry}
			}
		})
	}
	return all
}

// Reset implements admin.Store.
func (a *storeAdmin) Reset(ctx context.Context) error {
	return a.service.Replace(ctx, a.store.Reset)
}

// Save implements admin.Store.
func (a *storeAdmin) Save(_ context.Context, name string) error {
	return inputError(a.store.Save(name))
}

// Restore implements admin.Store.
func (a *storeAdmin) Restore(ctx context.Context, name string) error {
	return inputError(a.service.Replace(ctx, func() error { return a.store.Restore(name) }))
}

// Remove implements admin.Store.
func (a *storeAdmin) Remove(_ context.Context, name string) error {
	return inputError(a.store.Forget(name))
}

// Contents implements admin.Store.
func (a *storeAdmin) Contents(context.Context) (admin.StoreContents, error) {
	return storeContents(a.store)
}

// Namespace implements admin.Store.
func (*storeAdmin) Namespace(string) (admin.Store, error) { return nil, errNoNamespaces }

var errNoNamespaces = fmt.Errorf("%w: the store has no namespaces", admin.ErrInput)

func storeContents(store *embedded.Store) (admin.StoreContents, error) {
	saved, err := store.Snapshots()
	c := admin.StoreContents{Tables: store.Tables(), Snapshots: []admin.StoreSnapshot{}}
	for _, s := range saved {
		c.Snapshots = append(c.Snapshots, admin.StoreSnapshot{Name: s.Name, Saved: s.At})
	}
	return c, err
}

// inputError marks the errors of a store that the request caused.
func inputError(err error) error {
	for _, caused := range []error{embedded.ErrNoSnapshot, embedded.ErrSnapshotName, embedded.ErrSnapshots, local.ErrNoNamespace} {
		if errors.Is(err, caused) {
			return fmt.Errorf("%w: %w", admin.ErrInput, err)
		}
	}
	return err
}
