package nats

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// How often, and for how long at most, the names in Config.Join are resolved.
const (
	resolveInterval = 5 * time.Second
	resolveTimeout  = 4 * time.Second
)

// resolve keeps the addresses of the names in Config.Join up to date until ctx ends.
func (e *embedded) resolve(ctx context.Context) {
	if !slices.ContainsFunc(e.cfg.Join, isName) {
		return
	}
	tick := time.NewTicker(resolveInterval)
	defer tick.Stop()
	for {
		e.resolveOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// resolveOnce resolves each name in Config.Join. A name that can't be resolved keeps the
// addresses that it had.
func (e *embedded) resolveOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found := map[string][]string{}
	for _, name := range e.cfg.Join {
		if !isName(name) {
			continue
		}
		host, port, _ := net.SplitHostPort(name) // checked by Start
		ips, err := e.cfg.lookup(ctx, host)
		if err != nil {
			e.cfg.Log.Debug("a name of other nodes can't be resolved", slog.String("name", host), slog.Any("error", err))
			continue
		}
		found[name] = []string{}
		for _, ip := range ips {
			found[name] = append(found[name], net.JoinHostPort(ip, port))
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, addresses := range found {
		e.join[name] = addresses
	}
	e.reload(false)
}

// setPeers replaces the members.
func (e *embedded) setPeers(addresses map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	peers := make(map[string]*peer, len(addresses))
	for name, address := range addresses {
		p := e.peers[name]
		if p == nil || p.address != address {
			p = &peer{address: address}
		}
		peers[name] = p
	}
	e.peers = peers
	e.reload(false)
}

// reload passes the addresses to the server if they have changed, or routes are to be
// repaired. e.mu is held.
func (e *embedded) reload(repair bool) {
	addresses := e.addresses()
	if slices.Equal(addresses, e.tried) && !repair {
		return
	}
	maps.DeleteFunc(e.repairs, func(address string, _ int) bool { return !slices.Contains(addresses, address) })
	options, err := e.options(addresses)
	if err == nil {
		err = e.ReloadOptions(options)
	}
	if err != nil {
		e.cfg.Log.Warn("the addresses of other nodes can't be changed", slog.Any("error", err))
		return
	}
	e.tried = addresses
}

// addresses returns where to connect to: Config.Join, the peers, and the addresses of each
// name in Config.Join that has several. Such a name is part of it too, since the first name
// is the one that the server accepts in the certificate of a node that it connects to by IP
// address. The result is sorted, because a reload sorts the addresses in place while the
// server may read them. e.mu is held.
func (e *embedded) addresses() []string {
	all := slices.Clone(e.cfg.Join)
	for _, p := range e.peers {
		all = append(all, p.address)
	}
	for _, addresses := range e.join {
		if len(addresses) > 1 {
			all = append(all, addresses...)
		}
	}
	all = slices.DeleteFunc(all, e.isOwn)
	slices.Sort(all)
	return slices.Compact(all)
}

// isOwn reports whether address is this node's. An address of this node under another name
// is detected by the server when it has connected.
func (e *embedded) isOwn(address string) bool {
	return address == "" || address == e.cfg.Advertise || address == e.cfg.Listen ||
		e.address != nil && address == e.address.String()
}

// isName reports whether the host of address is a name.
func isName(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host) == nil
}

// urls returns the addresses as the server expects them. The fragment is for repair. e.mu is
// held.
func (e *embedded) urls(addresses []string) []*url.URL {
	var out []*url.URL
	for _, a := range addresses {
		u := &url.URL{Scheme: "nats-route", Host: a}
		if n := e.repairs[a]; n > 0 {
			u.Fragment = strconv.Itoa(n)
		}
		out = append(out, u)
	}
	return out
}
