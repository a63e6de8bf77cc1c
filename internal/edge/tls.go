package edge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// CertReloader serves a certificate from files and loads new ones without a restart. Files
// that can't be used change nothing: the old certificate remains in use, and Reload returns
// the error.
type CertReloader struct {
	source CertSource

	// cur is replaced as a whole; handshakes in progress keep the value with which they
	// began.
	cur  atomic.Pointer[tlsFiles]
	mu   sync.Mutex // serialises Reload
	live atomic.Pointer[liveConfig]
}

// CertSource describes where a CertReloader finds certificates.
type CertSource struct {
	// Cert and Key are the files of a certificate with its chain, and of its key.
	Cert, Key string
	// Obtain returns the certificate for a handshake, in place of files. It also returns the
	// certificates for challenges of the protocol ChallengeProtocol.
	Obtain func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// ClientCA is a file and optional: with it, clients must present a certificate that one
	// of its authorities has signed.
	ClientCA string
	// Sessions holds the keys for resumption. Nil means keys of the reloader's own.
	Sessions *SessionKeys
}

// ChallengeProtocol is the ALPN name of connections with which an ACME server verifies that
// a domain leads to the listener (RFC 8737). They carry nothing else.
const ChallengeProtocol = "acme-tls/1"

// tlsFiles is the result of reading the files once.
type tlsFiles struct {
	cert   *tls.Certificate // nil with Obtain
	ca     *x509.CertPool   // nil without client CA
	stamps [3]time.Time     // modification times, in the order of paths
}

// liveConfig is the configuration of handshakes for given files and keys.
type liveConfig struct {
	files     *tlsFiles
	keys      *sessionKeySet
	config    *tls.Config
	challenge *tls.Config // for connections of ChallengeProtocol; nil without Obtain
}

// NewCertReloader reads the files for the first time. clientCA is optional, see CertSource.
func NewCertReloader(certFile, keyFile, clientCA string) (*CertReloader, error) {
	return OpenCertificates(CertSource{Cert: certFile, Key: keyFile, ClientCA: clientCA})
}

// OpenCertificates returns a reloader that has read the files of source.
func OpenCertificates(source CertSource) (*CertReloader, error) {
	if source.Sessions == nil {
		source.Sessions = &SessionKeys{}
	}
	r := &CertReloader{source: source}
	return r, r.Reload()
}

// Reload reads the files again. After an error the old ones are still in use.
func (r *CertReloader) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &tlsFiles{stamps: r.modified()}
	if r.source.Obtain == nil {
		cert, err := tls.LoadX509KeyPair(r.source.Cert, r.source.Key)
		if err != nil {
			return fmt.Errorf("edge: can't use certificate %s with key %s: %w", r.source.Cert, r.source.Key, err)
		}
		next.cert = &cert
	}
	if r.source.ClientCA != "" {
		pem, err := os.ReadFile(r.source.ClientCA)
		if err != nil {
			return fmt.Errorf("edge: can't read client CA: %w", err)
		}
		next.ca = x509.NewCertPool()
		if !next.ca.AppendCertsFromPEM(pem) {
			return fmt.Errorf("edge: client CA %s: %w", r.source.ClientCA, errors.New("no certificate in it"))
		}
	}
	r.cur.Store(next)
	return nil
}

// Expires returns the time at which the certificate from files expires.
func (r *CertReloader) Expires() time.Time { return r.cur.Load().cert.Leaf.NotAfter }

// ReloadIfChanged calls Reload if the modification time of a file has changed since the last
// successful read.
func (r *CertReloader) ReloadIfChanged() (changed bool, err error) {
	if r.cur.Load().stamps == r.modified() {
		return false, nil
	}
	return true, r.Reload()
}

func (r *CertReloader) modified() (stamps [3]time.Time) {
	for i, path := range [...]string{r.source.Cert, r.source.Key, r.source.ClientCA} {
		if info, err := os.Stat(path); path != "" && err == nil {
			stamps[i] = info.ModTime()
		}
	}
	return stamps
}

// Config returns a TLS configuration that follows the reloader. Each handshake gets the
// configuration for the current files and keys, which is made once: making a copy for each
// handshake would cost more than the look-up of an object.
func (r *CertReloader) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: r.configFor}
}

// configFor implements tls.Config.GetConfigForClient.
func (r *CertReloader) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	files, keys := r.cur.Load(), r.source.Sessions.current()
	l := r.live.Load()
	if l == nil || l.files != files || l.keys != keys {
		l = r.newLive(files, keys)
		r.live.Store(l)
	}
	if l.challenge != nil && slices.Equal(hello.SupportedProtos, l.challenge.NextProtos) {
		return l.challenge, nil
	}
	return l.config, nil
}

// newLive returns the configuration for files and keys. The authorities of clients are not
// only for whole handshakes: crypto/tls verifies the certificate of a resumed session against
// them as well.
func (r *CertReloader) newLive(files *tlsFiles, keys *sessionKeySet) *liveConfig {
	l := &liveConfig{files: files, keys: keys}
	l.config = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: alpn}
	l.config.SetSessionTicketKeys(keys.keys)
	if files.cert != nil {
		l.config.Certificates = []tls.Certificate{*files.cert}
	} else {
		l.config.GetCertificate = r.source.Obtain
		l.challenge = &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{ChallengeProtocol}, GetCertificate: r.source.Obtain, SessionTicketsDisabled: true,
		}
	}
	if files.ca != nil {
		l.config.ClientAuth, l.config.ClientCAs = tls.RequireAndVerifyClientCert, files.ca
	}
	return l
}

// alpn is the list of protocols that TLS listeners offer.
var alpn = []string{"h2", "http/1.1"}
