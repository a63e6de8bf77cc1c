package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/crypto/acme"
)

// authority obtains certificates from the authority of a configuration. It belongs to the
// goroutine of a Manager.
type authority struct {
	cfg        *Config
	store      store
	challenges *challenges

	client *acme.Client // nil until the account is registered
}

// types are the challenges that a Manager can answer. Each attempt after a failure begins
// with another one, because only one of the ports may be reachable.
var types = []string{"tls-alpn-01", "http-01"}

// obtain orders a certificate, answers the challenges and returns the certificate. After a
// failure it registers again, because the authority may have lost the account.
func (a *authority) obtain(ctx context.Context, failures int) (c *tls.Certificate, err error) {
	defer func() {
		if err != nil {
			a.client = nil
		}
	}()
	if err := a.register(ctx); err != nil {
		return nil, fmt.Errorf("register at %s: %w", a.cfg.Directory, err)
	}
	order, err := a.client.AuthorizeOrder(ctx, acme.DomainIDs(a.cfg.Domains...))
	if err != nil {
		return nil, fmt.Errorf("order a certificate: %w", err)
	}
	for _, url := range order.AuthzURLs {
		if err := a.authorize(ctx, url, failures); err != nil {
			return nil, err
		}
	}
	if order.Status != acme.StatusReady {
		url := order.URI
		if order, err = a.client.WaitOrder(ctx, url); err != nil {
			return nil, fmt.Errorf("wait for the order: %w", err)
		}
		order.URI = url // which answers about an order need not contain
	}
	return a.finish(ctx, order)
}

// register registers the account, or finds it if it is registered.
func (a *authority) register(ctx context.Context) error {
	if a.client != nil {
		return nil
	}
	key, err := a.store.accountKey()
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: a.cfg.Roots, MinVersion: tls.VersionTLS12}
	client := &acme.Client{
		Key: key, DirectoryURL: a.cfg.Directory, UserAgent: "kasoku",
		HTTPClient: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}
	account := &acme.Account{}
	if a.cfg.Email != "" {
		account.Contact = []string{"mailto:" + a.cfg.Email}
	}
	if _, err := client.Register(ctx, account, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return err
	}
	a.client = client
	return nil
}

// authorize proves to the authority that a domain leads here, unless it remembers that.
func (a *authority) authorize(ctx context.Context, url string, failures int) error {
	z, err := a.client.GetAuthorization(ctx, url)
	if err != nil {
		return fmt.Errorf("get an authorization: %w", err)
	}
	domain := z.Identifier.Value
	if z.Status == acme.StatusValid {
		return nil
	}
	c := choose(z.Challenges, failures)
	if c == nil {
		return fmt.Errorf("authorize %s: the authority has none of the challenges %v", domain, types)
	}
	withdraw, err := a.answer(domain, c)
	if err != nil {
		return fmt.Errorf("authorize %s: %w", domain, err)
	}
	defer withdraw()
	if _, err := a.client.Accept(ctx, c); err != nil {
		return fmt.Errorf("authorize %s by %s: %w", domain, c.Type, err)
	}
	if _, err := a.client.WaitAuthorization(ctx, z.URI); err != nil {
		return fmt.Errorf("authorize %s by %s: %w", domain, c.Type, err)
	}
	return nil
}

// choose returns the first challenge of a known type, or nil.
func choose(offered []*acme.Challenge, failures int) *acme.Challenge {
	for i := range types {
		wanted := types[(i+failures)%len(types)]
		if k := slices.IndexFunc(offered, func(c *acme.Challenge) bool { return c.Type == wanted }); k >= 0 {
			return offered[k]
		}
	}
	return nil
}

// answer prepares the answer to a challenge.
func (a *authority) answer(domain string, c *acme.Challenge) (withdraw func(), err error) {
	if c.Type == "http-01" {
		body, err := a.client.HTTP01ChallengeResponse(c.Token)
		if err != nil {
			return nil, err
		}
		return a.challenges.offerResponse(a.client.HTTP01ChallengePath(c.Token), body), nil
	}
	cert, err := a.client.TLSALPN01ChallengeCert(c.Token, domain)
	if err != nil {
		return nil, err
	}
	return a.challenges.offerCertificate(domain, &cert), nil
}

// finish requests and checks the certificate of an order that is ready.
func (a *authority) finish(ctx context.Context, order *acme.Order) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: a.cfg.Domains}, key)
	if err != nil {
		return nil, err
	}
	chain, _, err := a.client.CreateCertFromOrder(ctx, order, csr, true)
	if err != nil {
		return nil, fmt.Errorf("request the certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return nil, fmt.Errorf("the certificate of the authority: %w", err)
	}
	if !key.PublicKey.Equal(leaf.PublicKey) {
		return nil, errors.New("the certificate of the authority has another key")
	}
	for _, domain := range a.cfg.Domains {
		if err := leaf.VerifyHostname(domain); err != nil {
			return nil, fmt.Errorf("the certificate of the authority: %w", err)
		}
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: leaf}, nil
}
