package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/kasoku/kasoku/internal/config"
)

// clientTLS is the encryption of connections that Kasoku makes: to a server of that name,
// vouched for by the authorities in ca, with a certificate of its own. Of the files, the last
// two go together, and each that is empty stands for none; without ca the system's count.
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
