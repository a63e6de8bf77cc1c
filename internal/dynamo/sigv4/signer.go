package sigv4

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// credentialsTimeout is the timeout for fetching credentials.
const credentialsTimeout = 5 * time.Second

// Signer signs requests for the origin. It is safe for concurrent use.
type Signer struct {
	provider        aws.CredentialsProvider
	region, service string
	// current is the last fetched grant. It is replaced when it has expired. Concurrent
	// replacements store the same credentials, because the provider deduplicates fetches.
	current atomic.Pointer[originCredentials]
}

// originCredentials is a set of credentials in the form needed for signing.
type originCredentials struct {
	secret
	id, token []byte
	// canExpire reports whether the grant is valid only until expires.
	canExpire bool
	expires   time.Time
}

// NewSigner returns a signer that uses the given credentials and scope. Credentials are
// cached and fetched again shortly before they expire.
func NewSigner(provider aws.CredentialsProvider, region, service string) *Signer {
	if _, cached := provider.(*aws.CredentialsCache); !cached && provider != nil {
		provider = aws.NewCredentialsCache(provider)
	}
	return &Signer{provider: provider, region: region, service: service}
}

// The names of the fields that hold a signature. A client's own fields of these names are
// replaced.
var (
	authorization = []byte("Authorization")
	amzDate       = []byte("X-Amz-Date")
	amzToken      = []byte("X-Amz-Security-Token")
)

// Sign replaces the authentication fields of r with the signer's own, whose values are in
// r.Memory. Apart from them, r must be in its final form, with its Host and Content-Length
// fields. Sign waits for credentials until ctx is done, at most five seconds.
func (s *Signer) Sign(ctx context.Context, r *http1.Request, body []byte) error {
	return s.sign(ctx, r, body, time.Now())
}

func (s *Signer) sign(ctx context.Context, r *http1.Request, body []byte, now time.Time) error {
	g, err := s.credentials(ctx, now)
	if err != nil {
		return fmt.Errorf("sign for the origin: %w", err)
	}
	r.Fields = slices.DeleteFunc(r.Fields, authenticates)
	if len(r.Fields) > maxSigned-2 {
		return fmt.Errorf("sign for the origin: %d header fields are too many", len(r.Fields))
	}
	w := scratches.Get().(*scratch)
	defer w.release()
	if !g.sign(w, r, body, now.UTC()) {
		return errors.New("sign for the origin: malformed header field")
	}
	return nil
}

// credentials returns credentials that are valid at now.
func (s *Signer) credentials(ctx context.Context, now time.Time) (*originCredentials, error) {
	if g := s.current.Load(); g != nil && !g.expired(now) {
		return g, nil
	}
	if s.provider == nil {
		return nil, errors.New("no credentials are configured")
	}
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	c, err := s.provider.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("get credentials: %w", err)
	}
	g := &originCredentials{
		secret:    secret{secret: c.SecretAccessKey, region: s.region, service: s.service},
		id:        []byte(c.AccessKeyID),
		token:     []byte(c.SessionToken),
		canExpire: c.CanExpire,
		expires:   c.Expires,
	}
	if g.expired(now) {
		return nil, fmt.Errorf("the credentials from %s expired at %s", c.Source, c.Expires.UTC().Format(time.RFC3339))
	}
	s.current.Store(g)
	return g, nil
}

func (g *originCredentials) expired(now time.Time) bool { return g.canExpire && !g.expires.After(now) }

// sign adds the signature to r, which must not have one. It returns false if a field's name
// is invalid.
func (g *originCredentials) sign(w *scratch, r *http1.Request, body []byte, now time.Time) bool {
	dated := len(r.Fields)
	r.Fields = append(r.Fields, http1.Field{Name: amzDate}) // its value is set below
	if len(g.token) > 0 {
		r.Fields = append(r.Fields, http1.Field{Name: amzToken, Value: g.token})
	}
	w.listSigned(r)
	// The new values outlive w.
	size := 144 + len(g.id) + len(g.region) + len(g.service) + len(w.claim.signedHeaders) + 2*sha256.Size
	r.Memory = slices.Grow(r.Memory[:0], size)
	value := r.Memory
	date := now.AppendFormat(value, dateLayout)
	value = date[len(date):]
	r.Fields[dated].Value = date
	value = append(value, algorithm+" Credential="...)
	value = append(value, g.id...)
	value = append(value, '/')
	scope := len(value)
	value = append(value, date[:8]...)
	for _, part := range [...]string{g.region, g.service, terminator} {
		value = append(append(value, '/'), part...)
	}
	w.claim.date = date
	w.hash(body)
	signature, ok := w.signature(r, value[scope:], g.signing([8]byte(date[:8])))
	value = append(value, ", SignedHeaders="...)
	value = append(value, w.claim.signedHeaders...)
	value = append(value, ", Signature="...)
	value = append(value, signature[:]...)
	r.Fields = append(r.Fields, http1.Field{Name: authorization, Value: value})
	return ok
}

// authenticates reports whether a field is part of a signature.
func authenticates(f http1.Field) bool {
	return ascii.ContainsFold([]string{"authorization", "date", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}, f.Name)
}
