package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/kasoku/kasoku/internal/config"
)

// clientTLS returns the TLS configuration for connections from Kasoku to a server with that
// name. ca, cert and key are files; each may be empty, but cert and key only together.
// Without ca the system's authorities are trusted.
func clientTLS(c *config.Config, name, ca, cert, key string) (*tls.Config, error) {
	secure := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Resolve(cert), c.Resolve(key))
		if err != nil {
			return nil, err
		}
		secure.Certificates = []tls.Certificate{pair}
	}
	if ca != "" {
		data, err := os.ReadFile(c.Resolve(ca))
		if err != nil {
			return nil, err
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s holds no PEM certificate", ca)
		}
	}
	return secure, nil
}
