package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	tlsHandshake   = "TLS 1.3 handshake with one hit"
	tlsPostQuantum = "TLS 1.3 handshake with one hit, ML-KEM"
	tlsResumed     = "TLS 1.3 resumption with one hit"
	tlsKept        = "TLS hit of 1.5 KB, HTTP/1.1 kept connection"
	tlsNagle       = "first request of a client with Nagle on"
)

// tlsScenario is a scenario with the client's configuration for it.
type tlsScenario struct {
	scenario
	secure *tls.Config
	each   bool // a connection for each request
	nagle  bool // Nagle's algorithm on
}

func tlsScenarios() []tlsScenario {
	only := func(c tls.CurveID) *tls.Config { return &tls.Config{CurvePreferences: []tls.CurveID{c}} }
	return []tlsScenario{
		{scenario: scenario{name: tlsHandshake, conns: 16, cached: true}, secure: only(tls.X25519), each: true},
		{scenario: scenario{name: tlsPostQuantum, conns: 16, cached: true}, secure: only(tls.X25519MLKEM768), each: true},
		{scenario: scenario{name: tlsResumed, conns: 16, cached: true}, secure: &tls.Config{
			CurvePreferences: []tls.CurveID{tls.X25519}, ClientSessionCache: tls.NewLRUClientSessionCache(0)}, each: true},
		{scenario: scenario{name: tlsKept, conns: 64, cached: true}, secure: &tls.Config{}},
		{scenario: scenario{name: tlsNagle, conns: 1, cached: true}, secure: only(tls.X25519), each: true, nagle: true},
	}
}

// plainTLSScenarios returns the scenarios for their names.
func plainTLSScenarios() (list []scenario) {
	for _, s := range tlsScenarios() {
		list = append(list, s.scenario)
	}
	return list
}

// load returns the requests of s. The servers' certificate is in roots.
func (s *tlsScenario) load(roots *x509.CertPool) traffic {
	const objects = 200 // few, so that every round has requested all of them before
	end := []byte("\r\n\r\n")
	requests := prepare(objects, func(k int) []byte {
		request := dataset.AppendObjectRequest(nil, dataset.SmallObject, k)
		if s.each {
			request = bytes.Replace(request, end, []byte("\r\nConnection: close\r\n\r\n"), 1)
		}
		return request
	})
	load := hits(requests, dataset.SmallObject)
	load.secure, load.nagle = s.secure.Clone(), s.nagle
	load.secure.RootCAs, load.secure.MinVersion = roots, tls.VersionTLS13
	return load
}

// secureTargets starts a Kasoku and an nginx with TLS in front of the same origin. The servers'
// certificate is in roots.
func (l *lab) secureTargets() (origin *proc.Process, roots *x509.CertPool, targets []target, err error) {
	if origin, err = l.startOrigin(); err != nil {
		return nil, nil, nil, err
	}
	if roots, err = l.makeCertificate(); err != nil {
		return nil, nil, nil, err
	}
	for _, c := range []struct {
		name  string
		start func(origin string) (*proc.Process, string, error)
	}{{nameKasoku, l.startSecureSite}, {nameNginx, l.startSecureNginx}} {
		p, addr, err := c.start(origin.Addr)
		if errors.Is(err, errNoPeer) {
			l.report.note("%s is left out: %v", c.name, err)
			continue
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		targets = append(targets, target{name: c.name, addr: addr, proc: p})
	}
	return origin, roots, targets, nil
}

// compareTLS compares services of type http with nginx as servers of TLS.
func (l *lab) compareTLS() error {
	origin, roots, targets, err := l.secureTargets()
	if err != nil {
		return err
	}
	wanted := chosen(plainTLSScenarios(), "tls", l.only)
	for _, s := range tlsScenarios() {
		for _, c := range wanted {
			if c.name != s.name {
				continue
			}
			c.traffic = func(int) (traffic, error) { return s.load(roots), nil }
			if err := l.contest(c, s.possible(targets), origin); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// possible returns the targets that support the scenario. OpenSSL 3.0, with which Debian's
// nginx 1.22 is linked, has no ML-KEM.
func (s *tlsScenario) possible(targets []target) []target {
	if s.name == tlsPostQuantum {
		return targets[:1]
	}
	return targets
}

// The names of the files in the scratch folder.
const (
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// makeCertificate writes a certificate for 127.0.0.1 with a P-256 key to the scratch folder.
func (l *lab) makeCertificate() (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	if _, err := l.write(certFile, string(text)); err != nil {
		return nil, err
	}
	if _, err := l.write(keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return roots, nil
}

// startSecureSite starts a Kasoku with a service of type http and TLS.
func (l *lab) startSecureSite(origin string) (*proc.Process, string, error) {
	p, err := l.startService("tls", func(listen, admin string) string {
		return siteText(listen, admin, origin) + fmt.Sprintf("    tls: {cert: %q, key: %q}\n", certFile, keyFile)
	})
	if err != nil {
		return nil, "", err
	}
	return p, p.Addr, nil
}

// startSecureNginx starts nginx with a cache, as for HTTP, and a second listener for TLS.
// Sessions are resumed as by default: clients store them.
func (l *lab) startSecureNginx(origin string) (*proc.Process, string, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	p, err := l.runNginx("nginx-tls", "",
		"proxy_cache_path cache levels=1:2 keys_zone=site:10m max_size=1g inactive=1d use_temp_path=off;\n",
		`listen `+addr+` ssl http2;
ssl_protocols TLSv1.2 TLSv1.3;
ssl_certificate `+filepath.Join(l.dir, certFile)+`;
ssl_certificate_key `+filepath.Join(l.dir, keyFile)+`;
location / {
	proxy_pass http://`+origin+`;
	proxy_http_version 1.1;
	proxy_set_header Host $host;
	proxy_set_header Connection "";
	proxy_cache site;
}
`)
	return p, addr, err
}

// judgeTLS adds the goals of TLS.
func (r *report) judgeTLS(atMost func(name string, value, bound float64)) {
	against := func(scenario string) float64 {
		if nginx := r.ratio(scenario, nameNginx, cpu); nginx > 0 {
			return 1 / nginx // Kasoku is the reference
		}
		return 0
	}
	atMost("CPU of a TLS 1.3 handshake with one hit, in nginx's", against(tlsHandshake), 1.15)
	atMost("CPU of a TLS hit of 1.5 KB over HTTP/1.1, in nginx's", against(tlsKept), 0.7)
	if row := r.find(tlsNagle, nameKasoku); row != nil {
		atMost("milliseconds to the answer to the first request of a client with Nagle on", row.Columns[p50].Value/1e6, 1)
	}
}
