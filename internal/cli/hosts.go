package cli

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// hosts keeps the addresses of names. They are looked up in the background, so that no request
// waits for a name server.
type hosts struct {
	ctx    context.Context // of look-ups
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	log    *slog.Logger

	mu      sync.Mutex
	names   map[string]*host
	changes uint64 // look-ups that have changed addresses
}

// host is a name.
type host struct {
	addresses []netip.Addr // the lowest of each family; kept if a look-up fails
	checked   time.Time    // when the newest look-up ended
	busy      bool         // a look-up is in progress
	trouble   string       // of the newest look-up
}

func newHosts(ctx context.Context, log *slog.Logger) *hosts {
	return &hosts{ctx: ctx, lookup: net.DefaultResolver.LookupNetIP, log: log, names: map[string]*host{}}
}

const (
	hostRefresh = 30 * time.Second // the age of addresses after which they are looked up again
	hostRetry   = time.Second      // the same after an error
)

// find returns the addresses of a name or of an address, as far as they have been looked up.
func (h *hosts) find(name string) []netip.Addr {
	if ip, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{ip.Unmap()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.names[name]
	if e == nil {
		e = &host{}
		h.names[name] = e
	}
	age := hostRefresh
	if e.trouble != "" {
		age = hostRetry
	}
	if !e.busy && time.Since(e.checked) >= age {
		e.busy = true
		go h.update(name, e)
	}
	return e.addresses
}

// version changes with the addresses of any name.
func (h *hosts) version() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes
}

// update looks up a name.
func (h *hosts) update(name string, e *host) {
	ctx, cancel := context.WithTimeout(h.ctx, lookupTimeout)
	defer cancel()
	all, err := h.lookup(ctx, "ip", name)
	h.mu.Lock()
	defer h.mu.Unlock()
	e.checked, e.busy = time.Now(), false
	if err != nil {
		if text := err.Error(); text != e.trouble && h.ctx.Err() == nil {
			h.log.Warn("the address of another node can't be found", slog.Any("error", err))
			e.trouble = text
		}
		return
	}
	e.trouble = ""
	if found := lowest(all); !slices.Equal(found, e.addresses) {
		e.addresses = found
		h.changes++
	}
}

// lowest returns the lowest address of each family: a name server may return several in any
// order, and clients should get the same one each time.
func lowest(all []netip.Addr) []netip.Addr {
	found := make([]netip.Addr, 0, len(all))
	for _, ip := range all {
		found = append(found, ip.Unmap().WithZone(""))
	}
	slices.SortFunc(found, netip.Addr.Compare) // IPv4 first
	return slices.CompactFunc(found, func(a, b netip.Addr) bool { return a.Is4() == b.Is4() })
}
