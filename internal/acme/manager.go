package acme

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/kasoku/kasoku/internal/pause"
)

const (
	// firstWait is the maximum time that a handshake waits for the first certificate.
	firstWait = 5 * time.Second
	// attemptTimeout bounds an attempt to obtain a certificate.
	attemptTimeout = 3 * time.Minute
	// firstPause and lastPause are the shortest and the longest pause after a failed attempt.
	// Authorities limit failures: Let's Encrypt permits five an hour for a domain.
	firstPause = time.Minute
	lastPause  = time.Hour
	// checkPeriod is the longest time between looks at the clock and at the file: timers do
	// not run while a machine sleeps, and another process may have renewed the certificate.
	checkPeriod = time.Hour
	// maxEarly is the limit of Manager.early: processes that were started together should not
	// all renew at once.
	maxEarly = 0.02
)

// Manager holds one certificate and keeps it valid.
//
// Its life: New, Start, Close. Certificate and Response may be called at any time. A
// goroutine makes the attempts to obtain a certificate; handshakes never start one.
type Manager struct {
	cfg        Config
	store      store
	challenges challenges
	obtain     func(ctx context.Context, failures int) (*tls.Certificate, error)
	early      float64 // how much earlier than necessary to renew, as a part of the life

	cert atomic.Pointer[tls.Certificate] // nil until there is one
	// attempt is the one in progress, or the last one. At first it is one that has not begun.
	attempt atomic.Pointer[attempt]

	start  sync.Once
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	ended  chan struct{} // closed when the goroutine has ended
}

// attempt is an attempt to obtain a certificate. err may be read once done is closed.
type attempt struct {
	done chan struct{}
	err  error
}

// New returns a manager with the certificate in the folder, if there is one. It sends nothing
// before Start.
func New(cfg Config) (*Manager, error) {
	if len(cfg.Domains) == 0 {
		return nil, errors.New("acme: no domains")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	m := &Manager{cfg: cfg, store: newStore(&cfg), early: maxEarly * rand.Float64(), ended: make(chan struct{})}
	if err := m.store.prepare(); err != nil {
		return nil, fmt.Errorf("acme: %w", err)
	}
	m.obtain = (&authority{cfg: &m.cfg, store: m.store, challenges: &m.challenges}).obtain
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.attempt.Store(&attempt{done: make(chan struct{})})
	m.load()
	return m, nil
}

// Start begins to obtain and renew the certificate. Further calls have no effect.
func (m *Manager) Start() {
	m.start.Do(func() {
		go func() {
			defer close(m.ended)
			m.run()
		}()
	})
}

// Close ends an attempt in progress, and prevents further ones. The certificate can still be used.
func (m *Manager) Close() {
	m.cancel()
	m.start.Do(func() { close(m.ended) })
	<-m.ended
}

// Certificate implements tls.Config.GetCertificate, also for the authority's own connections.
// Without a certificate it waits a few seconds for an attempt in progress.
func (m *Manager) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		return m.challenges.certificate(hello.ServerName)
	}
	return m.current(hello.Context())
}

// current returns the certificate, and waits for the first one.
func (m *Manager) current(ctx context.Context) (*tls.Certificate, error) {
	if c := m.cert.Load(); c != nil {
		return c, nil
	}
	a := m.attempt.Load()
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	err := errNoneYet
	select {
	case <-a.done:
		err = a.err
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if c := m.cert.Load(); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("acme: there is no certificate: %w", err)
}

var errNoneYet = errors.New("the first attempt has not ended")

// Expires returns the time at which the certificate expires, zero without one.
func (m *Manager) Expires() time.Time {
	if c := m.cert.Load(); c != nil {
		return c.Leaf.NotAfter
	}
	return time.Time{}
}

// Response returns the body of the answer to a GET request of the authority with the given
// path, if it has an answer.
func (m *Manager) Response(path string) (body string, ok bool) { return m.challenges.response(path) }

// load uses the certificate in the folder if it expires later than the present one. It may be
// that of another process.
func (m *Manager) load() {
	c, err := m.store.load()
	if err != nil {
		m.cfg.Log.Warn("acme: the stored certificate can't be used", "domains", m.names(), "error", err)
		return
	}
	if old := m.cert.Load(); c != nil && (old == nil || c.Leaf.NotAfter.After(old.Leaf.NotAfter)) {
		m.cert.Store(c)
	}
}

// run obtains certificates when they are due until the manager is closed.
func (m *Manager) run() {
	for failures := 0; ; {
		m.wait(min(m.due(), checkPeriod))
		if m.ctx.Err() != nil {
			return
		}
		if m.load(); m.due() > 0 {
			failures = 0
			continue
		}
		if err := m.try(failures); err == nil {
			failures = 0
			continue
		} else if m.ctx.Err() == nil {
			wait := min(firstPause<<min(failures, 10), lastPause)
			if limited, ok := errors.AsType[*acme.Error](err); ok {
				if after, ok := acme.RateLimit(limited); ok {
					wait = min(max(wait, after), 24*time.Hour)
				}
			}
			failures++
			m.failed(err, wait)
			m.wait(wait)
		}
	}
}

func (m *Manager) wait(d time.Duration) {
	if d > 0 {
		pause.For(m.ctx, d)
	}
}

// due returns the time until the certificate is to be renewed: a third of its life before
// its end, and a little earlier.
func (m *Manager) due() time.Duration {
	c := m.cert.Load()
	if c == nil {
		return 0
	}
	life := c.Leaf.NotAfter.Sub(c.Leaf.NotBefore)
	return max(0, time.Until(c.Leaf.NotAfter.Add(-life/3-time.Duration(m.early*float64(life)))))
}

// try makes one attempt, after a number of failures.
func (m *Manager) try(failures int) error {
	a := m.attempt.Load()
	if failures > 0 || m.cert.Load() != nil {
		a = &attempt{done: make(chan struct{})}
		m.attempt.Store(a)
	}
	defer close(a.done)
	ctx, cancel := context.WithTimeout(m.ctx, attemptTimeout)
	defer cancel()
	c, err := m.obtain(ctx, failures)
	if err != nil {
		a.err = err
		return err
	}
	m.cert.Store(c)
	m.cfg.Log.Info("acme: obtained a certificate", "domains", m.names(), "expires", c.Leaf.NotAfter)
	if err := m.store.save(c); err != nil {
		m.cfg.Log.Error("acme: the certificate can't be stored, a restart will request another one", "domains", m.names(), "error", err)
	}
	return nil
}

// failed logs a failed attempt.
func (m *Manager) failed(err error, wait time.Duration) {
	until := "none"
	if c := m.cert.Load(); c != nil {
		until = c.Leaf.NotAfter.Format(time.RFC3339)
	}
	m.cfg.Log.Error("acme: no certificate obtained, trying again later", "domains", m.names(), "error", err, "pause", wait.String(), "present_expires", until)
}

func (m *Manager) names() string { return strings.Join(m.cfg.Domains, " ") }
