package cli

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/acme"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
)

// certificates are a listener's certificates; a reload may replace the files.
type certificates struct {
	cur atomic.Pointer[certificate]
}

// certificate is immutable, except for the state of its reloader.
type certificate struct {
	files    config.TLS // with resolved paths
	reloader *edge.CertReloader
	config   *tls.Config
	manager  *acme.Manager // obtains it; nil for files
}

// newCertificate returns the certificate that t describes, for a listener of n.
func (n *Node) newCertificate(c *config.Config, t *config.TLS) (*certificate, error) {
	files := tlsFiles(c, t)
	source := edge.CertSource{Cert: files.Cert, Key: files.Key, ClientCA: files.ClientCA, Sessions: &n.sessions}
	var manager *acme.Manager
	var err error
	if t.ACME != nil {
		if manager, err = n.authorities.manager(c, t.ACME, n.log); err != nil {
			return nil, err
		}
		source.Obtain = manager.Certificate
	}
	r, err := edge.OpenCertificates(source)
	if err != nil {
		return nil, err
	}
	return &certificate{files: files, reloader: r, config: r.Config(), manager: manager}, nil
}

// tlsFiles returns the files of t with resolved paths.
func tlsFiles(c *config.Config, t *config.TLS) config.TLS {
	return config.TLS{Cert: c.Resolve(t.Cert), Key: c.Resolve(t.Key), ClientCA: c.Resolve(t.ClientCA)}
}

// newCertificates is newCertificate for a new listener of a service, of kind "service" or
// "dax".
func (c *change) newCertificates(t *config.TLS, service, kind string) (*certificates, error) {
	cert, err := c.node.newCertificate(c.cfg, t)
	if err != nil {
		return nil, err
	}
	certs := &certificates{}
	certs.cur.Store(cert)
	c.stage.Gauge("kasoku_tls_certificate_expires_seconds",
		"When the listener's certificate expires, in seconds since 1970, 0 without one. If that is soon, it was not replaced or not renewed.",
		certs.expires, "service", service, "listener", kind)
	return certs, nil
}

// expires returns the time at which the present certificate expires, in seconds since 1970,
// 0 without a certificate.
func (c *certificates) expires() float64 {
	cert := c.cur.Load()
	if cert.manager == nil {
		return float64(cert.reloader.Expires().Unix())
	}
	if at := cert.manager.Expires(); !at.IsZero() {
		return float64(at.Unix())
	}
	return 0
}

// serverConfig returns a TLS configuration that always uses the current certificate.
func (c *certificates) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return c.cur.Load().config.GetConfigForClient(hello)
		},
	}
}

// reloadCertificate reads the certificate files of a service's listener again. It can't turn
// TLS on or off, which needs a restart.
func (c *change) reloadCertificate(service string, certs *certificates, t *config.TLS) error {
	if certs == nil || t == nil {
		return nil
	}
	cert := certs.cur.Load()
	if t.ACME == nil && cert.manager == nil && cert.files == tlsFiles(c.cfg, t) {
		if _, err := cert.reloader.ReloadIfChanged(); err != nil {
			return fmt.Errorf("service %s: %w", service, err)
		}
		return nil
	}
	// With ACME the same manager is used again unless its settings have changed.
	next, err := c.node.newCertificate(c.cfg, t)
	if err != nil {
		return fmt.Errorf("service %s: %w", service, err)
	}
	c.commit = append(c.commit, func() { certs.cur.Store(next) })
	return nil
}
