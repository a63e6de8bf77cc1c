package edge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// CertReloader serves a certificate from files and loads new ones without a restart. Files
// that can't be used change nothing: the old certificate remains in use, and Reload returns
// the error.
type CertReloader struct {
	certFile, keyFile, caFile string

	// cur is replaced as a whole; handshakes in progress keep the value with which they
	// began.
	cur atomic.Pointer[tlsFiles]
	mu  sync.Mutex // serialises Reload
}

// tlsFiles is the result of reading the files once.
type tlsFiles struct {
	cert   *tls.Certificate
	ca     *x509.CertPool // nil without client CA
	stamps [3]time.Time   // modification times, in the order of paths
}

// NewCertReloader reads the files for the first time. clientCA is optional: with it, clients
// must present a certificate that it has signed.
func NewCertReloader(certFile, keyFile, clientCA string) (*CertReloader, error) {
	r := &CertReloader{certFile: certFile, keyFile: keyFile, caFile: clientCA}
	return r, r.Reload()
}

// Reload reads the files again. After an error the old ones are still in use.
func (r *CertReloader) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &tlsFiles{stamps: r.modified()}
	cert, err := tls.LoadX509KeyPair(r.certFile, r.keyFile)
	if err != nil {
		return fmt.Errorf("edge: can't use certificate %s with key %s: %w", r.certFile, r.keyFile, err)
	}
	next.cert = &cert
	if r.caFile != "" {
		pem, err := os.ReadFile(r.caFile)
		if err != nil {
			return fmt.Errorf("edge: can't read client CA: %w", err)
		}
		next.ca = x509.NewCertPool()
		if !next.ca.AppendCertsFromPEM(pem) {
			return fmt.Errorf("edge: client CA %s: %w", r.caFile, errors.New("no certificate in it"))
		}
	}
	r.cur.Store(next)
	return nil
}

// ReloadIfChanged calls Reload if the modification time of a file has changed since the last
// successful read.
func (r *CertReloader) ReloadIfChanged() (changed bool, err error) {
	if r.cur.Load().stamps == r.modified() {
		return false, nil
	}
	return true, r.Reload()
}

func (r *CertReloader) modified() (stamps [3]time.Time) {
	for i, path := range [...]string{r.certFile, r.keyFile, r.caFile} {
		if info, err := os.Stat(path); path != "" && err == nil {
			stamps[i] = info.ModTime()
		}
	}
	return stamps
}

// Config returns a TLS configuration that follows the reloader.
func (r *CertReloader) Config() *tls.Config {
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return r.cur.Load().cert, nil
		},
	}
	if r.caFile == "" {
		return cfg
	}
	cfg.ClientAuth = tls.RequireAndVerifyClientCert
	cfg.ClientCAs = r.cur.Load().ca
	// The pool of a config in use can't be changed, so each handshake gets a new config.
	// NextProtos follows the value that edge has set in the outer one.
	outer := cfg.Clone()
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := outer.Clone()
		c.NextProtos = alpn
		c.ClientCAs = r.cur.Load().ca
		return c, nil
	}
	return cfg
}

// alpn is the list of protocols that TLS listeners offer.
var alpn = []string{"h2", "http/1.1"}
