// Package acme obtains the certificate of a listener from a certificate authority by ACME
// (RFC 8555), stores it in a folder and renews it.
//
//	m, err := acme.New(acme.Config{Domains: []string{"example.com"}, Folder: "acme", Directory: url})
//	...
//	m.Start()
//	defer m.Close()
//	config.GetCertificate = m.Certificate
//
// The authority verifies that a domain leads to this process by connecting to it: to port
// 443, where Certificate answers (TLS-ALPN-01), or to port 80, where Response has the answer
// (HTTP-01). One certificate has all domains of a Manager.
package acme

import (
	"crypto/x509"
	"log/slog"
)

// Config describes a certificate and its authority.
type Config struct {
	// Domains are the names in the certificate, at least one.
	Domains []string
	// Email is the address for messages of the authority; optional.
	Email string
	// Directory is the URL of the authority's directory.
	Directory string
	// Roots are the authorities for the directory's own certificate. Nil means the system's.
	Roots *x509.CertPool
	// Folder holds the account's key and the certificate with its key. Several managers may
	// share it.
	Folder string
	// Log receives the results of attempts.
	Log *slog.Logger
}
