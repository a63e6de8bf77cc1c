package acme

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
)

// challenges are the answers to the challenges of an authority that are pending. The zero
// value is empty.
type challenges struct {
	mu    sync.Mutex // leaf
	certs map[string]*tls.Certificate
	paths map[string]string
}

// offerCertificate makes certificate return c for a domain until the returned function is
// called.
func (s *challenges) offerCertificate(domain string, c *tls.Certificate) (withdraw func()) {
	return offer(s, &s.certs, strings.ToLower(domain), c)
}

// offerResponse makes response return body for a path until the returned function is called.
func (s *challenges) offerResponse(path, body string) (withdraw func()) {
	return offer(s, &s.paths, path, body)
}

func offer[T any](s *challenges, in *map[string]T, key string, value T) (withdraw func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *in == nil {
		*in = map[string]T{}
	}
	(*in)[key] = value
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(*in, key)
	}
}

func (s *challenges) certificate(domain string) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.certs[strings.ToLower(domain)]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("acme: no challenge for %q is pending", domain)
}

func (s *challenges) response(path string) (body string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok = s.paths[path]
	return body, ok
}
