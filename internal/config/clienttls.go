package config

import (
	"crypto/tls"
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
	k.authorities(path+".ca", ca)
}

// destination reports a URL of an origin that leads back to the service, or has a path.
func (k *checker) destination(path string, u interface {
	reaches(listener Address) bool
	path() string
}, listen Address) {
	if u.reaches(listen) {
		k.failf(path, "%s is this service's own listener: each request would return to it for ever", u)
	}
	if rest := u.path(); rest != "" && rest != "/" {
		k.failf(path, "has the path %s; requests are forwarded with their own path", rest)
	}
}
