// Package transfer copies tables and items between files and DynamoDB-compatible stores, over
// DynamoDB's JSON API.
//
// Load writes files into a store: descriptions of tables, items as DynamoDB JSON, Ion or CSV,
// and AWS's exports to S3, full and incremental. Dump writes tables as such an export. Copy
// writes the tables of one store into another. All of them can continue after a failure: a
// small file holds the part that is acknowledged.
package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/lazyregexp"
)

const (
	// callTimeout is the timeout of one request.
	callTimeout = time.Minute
	// maxAnswer is the maximum length of an answer. A page of a scan has 1 MB of data, which
	// is several times as long as JSON.
	maxAnswer = 32 << 20
	// maxConnections is the number of idle connections that are kept.
	maxConnections = 256
)

// Endpoint is a DynamoDB-compatible store behind HTTP.
type Endpoint struct {
	name   string // as given, for messages
	url    url.URL
	client http.Client
	signer *sigv4.Signer
}

// awsHost matches the hosts of AWS's own endpoints.
var awsHost = lazyregexp.New(`^dynamodb(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|api\.aws)$`)

// NewEndpoint returns an endpoint for an address: a URL, or unix:/path. The host of an AWS
// endpoint determines the region; region is that of others. Credentials are found as those
// for the origin of a service.
func NewEndpoint(address, region string) (*Endpoint, error) {
	e := &Endpoint{name: address}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: maxConnections, MaxIdleConnsPerHost: maxConnections,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		address = "http://localhost"
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q is no address of a store, such as http://127.0.0.1:8000, https://dynamodb.eu-west-1.amazonaws.com or unix:/path", address)
	}
	e.url = *u
	e.url.Path = "/"
	if m := awsHost().FindStringSubmatch(u.Hostname()); m != nil {
		region = m[1]
	}
	credentials, err := sigv4.DefaultCredentials(context.Background(), u.Hostname())
	if err != nil {
		return nil, err
	}
	e.signer = sigv4.NewSigner(credentials, region, "dynamodb")
	e.client = http.Client{Transport: transport, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return e, nil
}

// Name returns the address as it was given.
func (e *Endpoint) Name() string { return e.name }

// ServiceError is an error that the store has answered with.
type ServiceError struct {
	Status  int
	Type    string // without namespace; empty if the answer is not DynamoDB's
	Message string
}

// Error returns the type and the message.
func (e *ServiceError) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("status %d, which is no answer of DynamoDB", e.Status)
	}
	return strings.TrimSuffix(e.Type+": "+e.Message, ": ")
}

// Call sends an operation of DynamoDB and returns the answer. An error of the store is a
// *ServiceError.
func (e *Endpoint) Call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := e.sign(ctx, r, operation, body); err != nil {
		return nil, err
	}
	resp, err := e.client.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the URL of the socket
		}
		return nil, fmt.Errorf("no answer from %s: %w", e.name, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of %s broke off: %w", e.name, err)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("an answer of %s has more than %d bytes", e.name, maxAnswer)
	case !wire.Valid(answer, wire.MaxDepth):
		return nil, &ServiceError{Status: resp.StatusCode}
	case resp.StatusCode != http.StatusOK:
		se := &ServiceError{Status: resp.StatusCode, Type: string(wire.ErrorType(answer))}
		for _, name := range []string{"message", "Message"} {
			if text, ok := wire.Lookup(answer, name); ok && se.Message == "" {
				m, _ := wire.AppendString(nil, text)
				se.Message = string(m)
			}
		}
		return nil, se
	}
	return answer, nil
}

// sign adds the header fields of an operation.
func (e *Endpoint) sign(ctx context.Context, r *http.Request, operation string, body []byte) error {
	signed := http1.Request{Method: []byte(http.MethodPost), Target: []byte("/"), Path: []byte("/"), Host: []byte(r.URL.Host),
		Fields: http1.FieldsOf("Host", r.URL.Host, "Content-Length", strconv.Itoa(len(body)),
			"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "DynamoDB_20120810."+operation)}
	if err := e.signer.Sign(ctx, &signed, body); err != nil {
		return err
	}
	for _, f := range signed.Fields {
		if name := string(f.Name); name != "Host" && name != "Content-Length" {
			r.Header.Set(name, string(f.Value))
		}
	}
	r.Header.Set("User-Agent", "kasoku")
	return nil
}
