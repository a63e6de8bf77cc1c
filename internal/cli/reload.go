package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Reload reads a configuration with load and applies it. If that fails, nothing changes; the
// error is returned and kept for /api/v1/config.
func (n *Node) Reload(load func() (*config.Config, error)) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	if n.overview().Draining {
		return errors.New("configuration not taken: stopping")
	}
	cfg, err := load()
	if err == nil {
		err = n.apply(cfg)
	}
	if err == nil {
		n.log.Info("configuration taken", "pending", n.configStatus().Pending)
		return nil
	}
	n.mu.Lock()
	n.status.Tried, n.status.Problems = time.Now(), strings.Split(err.Error(), "\n")
	n.mu.Unlock()
	return fmt.Errorf("configuration not taken, the old one still runs: %w", err)
}

// change applies a new configuration to a node in two steps. prepare makes everything that
// may fail while the old configuration is still in use. Each of its steps adds to undo a
// function that reverts it, and to commit one that makes it effective.
type change struct {
	node   *Node
	cfg    *config.Config
	stage  *telemetry.Registry
	mounts []*mount
	undo   []func()
	commit []func()
	last   []func() // called after all of commit
}

// apply makes cfg effective, or changes nothing. The caller holds n.changing, except at the
// start.
func (n *Node) apply(cfg *config.Config) error {
	n.applying.Lock()
	defer n.applying.Unlock()
	fitDescriptors(cfg, openFiles(), n.log)
	c := &change{node: n, cfg: cfg, stage: n.registry.Stage()}
	if err := c.prepare(); err != nil {
		for _, f := range slices.Backward(c.undo) {
			f()
		}
		c.stage.Rollback()
		n.authorities.keep(n.obtains)
		return err
	}
	c.stage.Commit()
	for _, f := range slices.Concat(c.commit, c.last) {
		f()
	}
	defer n.authorities.keep(n.obtains) // without mu
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cfg, n.mounts = cfg, c.mounts
	n.status.Loaded, n.status.Tried, n.status.Problems = now, now, nil
	n.status.Pending = n.pending()
	return nil
}

// prepare prepares new settings of running services last, because they take effect at once.
func (c *change) prepare() error {
	if err := c.cluster(); err != nil {
		return err
	}
	if err := c.accessLog(); err != nil {
		return err
	}
	c.commit = append(c.commit, func() {
		counted := countedTables(c.cfg)
		c.node.tables.Configure(counted)
		c.node.hotKeys.Configure(slices.Collect(maps.Keys(counted)))
		c.node.configureLedger(c.cfg)
	})
	if err := c.tracing(); err != nil {
		return err
	}
	if err := c.admin(); err != nil {
		return err
	}
	for i := range c.cfg.Services {
		s := &c.cfg.Services[i]
		m := c.node.find(s.Name)
		var err error
		switch {
		case m == nil:
			if m, err = c.add(s); err == nil {
				err = c.dax(m, s)
			}
		case m.cfg.Type != s.Type:
			err = fmt.Errorf("service %s: its type can't change from %s to %s while it runs; restart, or give the new one another name",
				s.Name, m.cfg.Type, s.Type)
		default:
			if err = c.listener(m, s); err == nil {
				err = c.dax(m, s)
			}
		}
		if err != nil {
			return err
		}
		c.mounts = append(c.mounts, m)
	}
	for _, m := range c.node.mounts {
		if c.cfg.Service(m.cfg.Name) == nil {
			c.commit = append(c.commit, func() { c.node.remove(m) })
		}
	}
	for _, m := range c.mounts {
		s := c.cfg.Service(m.cfg.Name)
		if err := c.daxSettings(m, s); err != nil {
			return err
		}
		if err := c.settings(m, s); err != nil {
			return err
		}
	}
	return nil
}

// accessLog opens a new access log if its configuration has changed.
func (c *change) accessLog() error {
	n := c.node
	if n.cfg != nil && sameLog(n.cfg, c.cfg) && n.accessLogs.current().identity == forwardFiles(c.cfg) {
		if f := n.accessLogs.current().file; f != nil {
			c.commit = append(c.commit, func() {
				if err := f.Reopen(); err != nil {
					n.log.Warn("the access log is still written to the old file", "error", err)
				}
			})
		}
		return nil
	}
	busy := n.accessLogs.all()
	next, err := openAccessLog(c.cfg, n.stdout, busy, n.log)
	if err != nil {
		return err
	}
	if n.ledger != nil {
		next.Sink = n.ledger.Tap(next.Sink)
	}
	if next.Sink = n.tracer.Tap(n.live.Tap(n.tables.Tap(n.hotKeys.Tap(next.Sink)))); c.cfg.Cluster != nil {
		next.Sink = telemetry.Named(next.Sink, c.cfg.Cluster.NodeName())
	}
	if n.cfg == nil {
		n.accessLogs.use(next) // added services use it
		c.undo = append(c.undo, func() { n.accessLogs.retire(next, n.log) })
		return nil
	}
	prev := n.accessLogs.current()
	c.undo = append(c.undo, func() {
		// It has logged nothing, so there is nothing to wait for.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		next.Close(ctx)
	})
	c.commit = append(c.commit, func() { n.accessLogs.use(next) })
	c.last = append(c.last, func() {
		for _, m := range c.mounts {
			m.server.SetLog(next)
		}
		n.retirement.Go(func() { n.accessLogs.retire(prev, n.log) })
		if next.handover != nil {
			n.retirement.Go(func() { next.openAfter(spillOwner(busy, next.spill), n.log) })
		}
	})
	return nil
}

// sameLog reports whether the configurations have the same access log.
func sameLog(a, b *config.Config) bool {
	fa, fb := a.AccessLog.Fluentd, b.AccessLog.Fluentd
	if fa != nil && fb != nil && a.Resolve(fa.Spill) != b.Resolve(fb.Spill) {
		return false
	}
	return reflect.DeepEqual(a.AccessLog, b.AccessLog) && a.Resolve(a.AccessLog.File) == b.Resolve(b.AccessLog.File)
}

// admin opens a new admin listener if the address has changed.
func (c *change) admin() error {
	n := c.node
	token, keysToken := c.cfg.Admin.Token(), c.cfg.Admin.KeysToken()
	if n.cfg != nil && n.cfg.Admin.Listen == c.cfg.Admin.Listen {
		c.commit = append(c.commit, func() {
			n.admin.SetTokens(token, keysToken)
			n.admin.SetLimits(adminLimits(&c.cfg.Admin.Limits))
		})
		return nil
	}
	next, err := admin.Listen(admin.Config{
		Listen: string(c.cfg.Admin.Listen), OpenListener: n.manager.Listen, Token: token, KeysToken: keysToken, Limits: adminLimits(&c.cfg.Admin.Limits),
		Metrics: n.registry, Overview: n.overview, Keys: n.tableKeys, Live: &n.live, Ledger: n.ledger, History: n.history, Advice: n.advice, Log: n.log,
	})
	if err != nil {
		return err
	}
	c.undo = append(c.undo, func() { next.Shutdown(context.Background()) })
	c.commit = append(c.commit, func() {
		prev := n.admin
		n.mu.Lock()
		n.admin = next
		n.mu.Unlock()
		go func() {
			if err := next.Serve(); err != nil {
				n.ended(err)
			}
		}()
		n.log.Info("admin", "listen", next.Addr().String())
		if prev != nil {
			n.retire(prev.Shutdown)
		}
	})
	return nil
}

// retire shuts down a replaced component in the background.
func (n *Node) retire(shutdown func(context.Context) error) {
	n.retirement.Go(func() {
		ctx, cancel := context.WithTimeout(n.hard, stopTimeout)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			n.log.Warn("a shutdown in the background was incomplete", "error", err)
		}
	})
}

// add creates and mounts a new service.
func (c *change) add(s *config.Service) (*mount, error) {
	n := c.node
	m := &mount{cfg: *s, memory: s.Memory}
	var err error
	if m.space, err = n.cache.NewSpace(int64(s.Memory)); err != nil {
		return nil, fmt.Errorf("service %s: %w", s.Name, err)
	}
	c.undo = append(c.undo, m.space.Close)
	if s.Memory > 0 {
		observeMemory(c.stage, m.space.Usage, s.Name)
	}
	if m.service, err = n.newService(c.cfg, s, m.space, c.stage, n.log); err != nil {
		return nil, err
	}
	c.undo = append(c.undo, m.service.Close)
	if s.TLS != nil {
		if m.certs, err = c.newCertificates(s.TLS, s.Name, "service"); err != nil {
			return nil, fmt.Errorf("service %s: %w", s.Name, err)
		}
	}
	return m, c.listen(m, s, func(server *edge.Server, accepting *atomic.Bool) {
		m.server, m.accepting = server, accepting
	})
}

// listen opens a listener for m. When the change is committed, it is passed to put.
func (c *change) listen(m *mount, s *config.Service, put func(*edge.Server, *atomic.Bool)) error {
	n := c.node
	ec := m.listenerConfig(s)
	ec.OpenListener, ec.Handler, ec.Log, ec.Metrics, ec.Tracer = n.manager.Listen, m.service.handler(s), n.accessLogs.current(), c.stage, n.tracer
	if m.certs != nil {
		ec.TLS = m.certs.serverConfig()
	} else {
		ec.Challenge = n.authorities.response
	}
	server, err := edge.Listen(ec)
	if err != nil {
		return err
	}
	c.undo = append(c.undo, func() { server.Shutdown(context.Background()) })
	c.commit = append(c.commit, func() {
		accepting := &atomic.Bool{}
		accepting.Store(true)
		n.mu.Lock()
		put(server, accepting)
		n.mu.Unlock()
		server.SetLog(n.accessLogs.current())
		go n.serve(s.Name, server, accepting)
		n.log.Info("serving", "service", s.Name, "type", s.Type, "listen", server.Addr().String(),
			"tls", m.certs != nil, "origin", strings.Join(originNames(s), " "))
	})
	return nil
}

// listenerConfig returns the configuration of m's listeners.
func (m *mount) listenerConfig(s *config.Service) edge.Config {
	ec := edge.Config{Name: s.Name, Listen: string(s.Listen), Limits: edgeLimits(&s.Limits), Budget: m.space.Cache().Budget()}
	// Signatures cover all fields; the fields for an origin of type dynamodb are selected
	// later.
	ec.Limits.Underscores = s.UnderscoresInHeaders || s.DynamoDB != nil
	m.service.listener(s, &ec)
	return ec
}

// listener opens a new listener for a running service if its address has changed.
func (c *change) listener(m *mount, s *config.Service) error {
	if m.cfg.Listen == s.Listen {
		return nil
	}
	return c.listen(m, s, func(server *edge.Server, accepting *atomic.Bool) {
		c.node.retire(m.server.Shutdown)
		m.server, m.accepting = server, accepting
	})
}

// settings applies new settings to a running service.
func (c *change) settings(m *mount, s *config.Service) error {
	if err := c.reloadCertificate(s.Name, m.certs, s.TLS); err != nil {
		return err
	}
	if reflect.DeepEqual(m.cfg, *s) {
		return nil
	}
	old := m.cfg
	if !reflect.DeepEqual(ownSettings(&old), ownSettings(s)) {
		if err := m.service.reconfigure(c.cfg, s); err != nil {
			return err
		}
		c.undo = append(c.undo, func() {
			if err := m.service.reconfigure(c.node.cfg, &old); err != nil {
				c.node.log.Error("the old settings of a service could not be restored", "service", old.Name, "error", err)
			}
		})
	}
	c.commit = append(c.commit, func() {
		m.server.SetLimits(m.listenerConfig(s).Limits)
		m.server.SetHandler(m.service.inForce(s))
		c.node.mu.Lock()
		m.cfg = *s
		c.node.mu.Unlock()
	})
	return nil
}

// ownSettings returns the part of the configuration that the service itself uses.
func ownSettings(s *config.Service) config.Service {
	w := *s
	w.Listen, w.TLS, w.Limits, w.Memory = "", nil, config.Limits{}, 0
	if s.DynamoDB != nil {
		d := *s.DynamoDB
		d.DAX, w.DynamoDB = nil, &d
	}
	return w
}

// remove unmounts a service: it waits for its requests, and then releases its memory and its
// metrics.
func (n *Node) remove(m *mount) {
	n.log.Info("removed", "service", m.cfg.Name)
	n.retire(func(ctx context.Context) error {
		var left error
		var wg sync.WaitGroup
		wg.Go(func() { left = n.endDAX(ctx, m.dax) })
		err := m.server.Shutdown(ctx)
		wg.Wait()
		m.service.Close()
		m.space.Close()
		n.forget(m.cfg.Name)
		n.pruneDisk()
		return errors.Join(err, left)
	})
}

// forget removes the metrics of a service, unless it has been added again. It waits for a
// change in progress, which may be removing or adding the service.
func (n *Node) forget(name string) {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.ServiceAddr(name) == nil {
		n.registry.Unregister("service", name)
	}
}

// pending lists the keys whose new values need a restart. The caller holds mu.
func (n *Node) pending() []string {
	var list []string
	note := func(changed bool, key string) {
		if changed {
			list = append(list, key)
		}
	}
	note(n.boot.Cache.Memory != n.cfg.Cache.Memory, "cache.memory")
	note(n.boot.Cache.Generations != n.cfg.Cache.Generations, "cache.generations")
	list = append(list, pendingDisk(n.boot, n.cfg)...)
	list = append(list, n.pendingLedger()...)
	settle, quarantine := settleTimes(n.boot)
	newSettle, newQuarantine := settleTimes(n.cfg)
	note(settle != newSettle, "settle")
	note(quarantine != newQuarantine, "quarantine")
	for _, m := range n.mounts {
		path := "services." + m.cfg.Name
		note(m.memory != m.cfg.Memory, path+".memory")
		note((m.certs != nil) != (m.cfg.TLS != nil), path+".tls")
		list = append(list, m.dax.pending(n.cfg, &m.cfg, path)...)
		list = append(list, m.service.pending(n.cfg, &m.cfg, path)...)
	}
	return list
}
