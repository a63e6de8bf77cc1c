package config

import (
	"crypto/tls"
	"crypto/x509"
	"os"
)

// clientTLS checks the files for TLS connections that Kasoku makes: authorities, certificate
// and key. An empty name is skipped.
func (k *checker) clientTLS(path, ca, cert, key string) {
	switch {
	case cert != "" && key == "":
		k.failf(path, `lacks "key": it proves that the certificate is ours`)
	case key != "" && cert == "":
		k.failf(path, `lacks "cert": the key has no effect without it`)
	case cert != "":
		if _, err := tls.LoadX509KeyPair(k.config.Resolve(cert), k.config.Resolve(key)); err != nil {
			k.failf(path, "certificate and key can't be used: %v", err)
		}
	}
	if ca == "" {
		return
	}
	data, err := os.ReadFile(k.config.Resolve(ca))
	if err != nil {
		k.failf(path+".ca", "can't be read: %v", err)
	} else if !x509.NewCertPool().AppendCertsFromPEM(data) {
		k.failf(path+".ca", "holds no PEM certificate")
	}
}
