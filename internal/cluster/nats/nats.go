package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
)

// Transport sends messages to other members and receives theirs.
type Transport struct {
	cfg    Config
	log    *slog.Logger
	server *embedded // nil: the user's deployment
	client *client.Conn
	prefix string // of all subjects

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // subscriptions, answers, the resolver

	mu       sync.Mutex
	closed   bool
	all, own *client.Subscription
	ask      *client.Subscription
	dropped  uint64 // by subscriptions that have been replaced

	receiver atomic.Pointer[func(frame []byte)]
	answers  chan struct{}          // has an element for each answer in the making
	refused  atomic.Pointer[string] // the reason of the last attempt to connect that failed
	slow     atomic.Uint64          // subscriptions that were too slow
	overload atomic.Uint64          // requests above the limit of answers
}

// Stats are counters of a transport, and its present state.
type Stats struct {
	Connected     bool // to the server, in this process or the user's
	Peers         int  // other nodes with a route to the server in this process
	MessagesIn    uint64
	MessagesOut   uint64
	BytesIn       uint64
	BytesOut      uint64
	Dropped       uint64 // messages that arrived and exceeded a limit
	SlowConsumers uint64 // times that a connection or a subscription was too slow
	Reconnects    uint64 // of the connection to the server
}

// Start returns a transport that connects to other nodes in the background. It succeeds
// although none is reachable, or the deployment at URL is not.
func Start(cfg Config) (*Transport, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.lookup == nil {
		cfg.lookup = net.DefaultResolver.LookupHost
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Transport{cfg: cfg, log: cfg.Log, prefix: "kasoku." + cfg.Cluster + ".", answers: make(chan struct{}, maxAnswers)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	var err error
	if cfg.URL == "" {
		if t.server, err = startServer(&t.cfg); err != nil {
			t.cancel()
			return nil, err
		}
	}
	if err = t.connect(); err != nil {
		t.Close()
		return nil, err
	}
	if t.server != nil {
		t.tasks.Go(func() { t.server.resolve(t.ctx) })
	}
	return t, nil
}

// connect connects the client to the server.
func (t *Transport) connect() error {
	options := []client.Option{
		client.Name("kasoku " + t.cfg.Name),
		client.NoEcho(),
		client.CustomInboxPrefix(t.prefix + "reply"),
		client.MaxReconnects(-1),
		client.ReconnectBufSize(-1), // a frame is not kept while there is no connection: it would be late
		client.IgnoreAuthErrorAbort(),
		client.ErrorHandler(t.failed),
		client.DisconnectErrHandler(func(_ *client.Conn, err error) {
			if err != nil {
				t.log.Warn("the connection to NATS was lost", slog.Any("error", err))
			}
		}),
	}
	if t.server != nil {
		options = append(options, client.InProcessServer(t.server), client.ReconnectWait(time.Millisecond))
	} else {
		options = append(options,
			client.RetryOnFailedConnect(true),
			client.Timeout(dialTimeout),
			client.CustomReconnectDelay(reconnectDelay),
			client.PingInterval(pingInterval),
			client.MaxPingsOutstanding(maxPings),
			client.ConnectHandler(t.connected),
			client.ReconnectHandler(t.connected),
			client.ReconnectErrHandler(t.notConnected),
		)
		if t.cfg.TLS != nil {
			options = append(options, client.Secure(t.cfg.TLS))
		}
		if t.cfg.Credentials != "" {
			options = append(options, client.UserCredentials(t.cfg.Credentials))
		}
	}
	var err error
	t.client, err = client.Connect(t.cfg.URL, options...)
	if invalid := (*url.Error)(nil); errors.As(err, &invalid) {
		err = invalid.Err // without the URL, which may contain a password
	}
	if err != nil {
		return fmt.Errorf("connection to NATS: %w", err)
	}
	return nil
}

// connected logs that the deployment is reached, at first or again.
func (t *Transport) connected(*client.Conn) {
	t.refused.Store(nil)
	t.log.Info("connected to NATS")
}

// notConnected logs why the deployment can't be reached, once for each reason.
func (t *Transport) notConnected(_ *client.Conn, err error) {
	why := err.Error()
	if last := t.refused.Swap(&why); last == nil || *last != why {
		t.log.Warn("NATS can't be reached", slog.Any("error", err))
	}
}

// failed handles an error that belongs to no call, for example a full subscription.
func (t *Transport) failed(_ *client.Conn, sub *client.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	if errors.Is(err, client.ErrSlowConsumer) {
		t.slow.Add(1)
	}
	t.log.Warn("an error of NATS", slog.Any("error", err), slog.String("subject", subject))
}

// Addr returns the address of the listener for routes, or nil with the user's deployment.
func (t *Transport) Addr() net.Addr {
	if t.server == nil {
		return nil
	}
	return t.server.address
}

// Client returns the connection, for requests to JetStream.
func (t *Transport) Client() *client.Conn { return t.client }

// CopyState returns an error while this node's copy of a stream is behind those of other nodes,
// or can't be compared with them. Another node that keeps copies should not be stopped meanwhile.
// A node that keeps no copies has none that is behind.
func (t *Transport) CopyState(stream string) error {
	if t.server == nil || t.cfg.Copies.Directory == "" {
		return nil
	}
	if h := t.server.Healthz(&server.HealthzOptions{}); h.Status != "ok" {
		return errors.New(h.Error)
	}
	if !t.server.JetStreamIsStreamCurrent(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
		return fmt.Errorf("this node's copy of %s is not current", stream)
	}
	return nil
}

// SetPeers replaces the addresses that the server in this process connects to in addition to
// Config.Join: the ones of all members, by name. This node's own may be among them. All nodes have to
// pass all members: the server closes a route when it removes the address that the route was
// connected to, and relies on the other node if it has another address of that one.
func (t *Transport) SetPeers(addresses map[string]string) {
	if t.server != nil {
		t.server.setPeers(addresses)
	}
}

// Stats returns the present counters.
func (t *Transport) Stats() Stats {
	c := t.client.Stats()
	s := Stats{
		Connected:  t.client.IsConnected(),
		MessagesIn: c.InMsgs, MessagesOut: c.OutMsgs, BytesIn: c.InBytes, BytesOut: c.OutBytes,
		Reconnects: c.Reconnects, SlowConsumers: t.slow.Load(), Dropped: t.overload.Load(),
	}
	t.mu.Lock()
	s.Dropped += t.dropped
	for _, sub := range []*client.Subscription{t.all, t.own, t.ask} {
		s.Dropped += droppedBy(sub)
	}
	t.mu.Unlock()
	if t.server != nil {
		s.Peers = t.server.NumRemotes()
		s.SlowConsumers += uint64(t.server.NumSlowConsumers())
	}
	return s
}

// Close disconnects from all nodes. It returns when the calls of receive and answer have
// returned, so they must not call it. A second call does nothing.
func (t *Transport) Close() {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return
	}
	t.cancel()
	t.client.Close()
	t.tasks.Wait()
	if t.server != nil {
		t.server.stop()
	}
}

var _ client.InProcessConnProvider = (*server.Server)(nil)
