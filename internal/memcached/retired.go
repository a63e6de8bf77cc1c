package memcached

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// retireAfter is how long a client is kept open after a reload has replaced it: requests in
// flight use it at most once more, after their fallback has answered.
const retireAfter = 30 * time.Second

// retired are clients that reloads have replaced.
type retired struct {
	mu      sync.Mutex // leaf
	clients map[*client.Client]*time.Timer
}

// closeLater closes c when no request uses it any more.
func (r *retired) closeLater(c *client.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients == nil {
		r.clients = map[*client.Client]*time.Timer{}
	}
	r.clients[c] = time.AfterFunc(retireAfter, func() {
		r.mu.Lock()
		delete(r.clients, c)
		r.mu.Unlock()
		c.Close()
	})
}

// close closes the clients that are left.
func (r *retired) close() {
	r.mu.Lock()
	left := r.clients
	r.clients = nil
	r.mu.Unlock()
	for c, t := range left {
		if t.Stop() {
			c.Close()
		}
	}
}

// sameClient reports whether connections made with one configuration can be used with
// another.
func sameClient(a, b *client.Config) bool {
	x, y := *a, *b
	x.Name, y.Name, x.Metrics, y.Metrics, x.Log, y.Log = "", "", nil, nil, nil, nil
	x.Servers, y.Servers = nil, nil
	return sameServers(a.Servers, b.Servers) && reflect.DeepEqual(x, y)
}

// sameValues reports whether copies made with one configuration are valid with another: keys
// have the same values.
func sameValues(a, b *Config) bool {
	return sameServers(a.Client.Servers, b.Client.Servers) && reflect.DeepEqual(a.Ring, b.Ring) && a.Values == b.Values
}

func sameServers(a, b []client.Server) bool {
	return slices.EqualFunc(a, b, func(x, y client.Server) bool { return x.Address == y.Address && balance.SameTLS(x.TLS, y.TLS) })
}
