package kasokutest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
)

// maxBody is the maximum length of a request's body: the service's limit for a batch.
const maxBody = 16 << 20

// transport sends HTTP requests to a store in this process.
type transport struct{ store *embedded.Store }

// errReset is the error of a request whose connection is closed by a fault.
var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// requests numbers requests, for their ids.
var requests atomic.Uint64

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a, err := t.store.Do(&embedded.Request{
		Method: r.Method, Path: r.URL.EscapedPath(), Body: body,
		Target: []byte(r.Header.Get("X-Amz-Target")), ContentType: []byte(r.Header.Get("Content-Type")), Host: []byte(r.Host),
	})
	if err != nil {
		return nil, fmt.Errorf("kasokutest: %w", err)
	}
	if a.Reset {
		return nil, errReset
	}
	return &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header(&a), Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: r,
	}, nil
}

// Do implements aws.HTTPClient.
func (t transport) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// readBody reads and closes the body of a request.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("kasokutest: the body of the request has more than %d bytes", maxBody)
	}
	return body, err
}

// header returns the header of an answer.
func header(a *embedded.Answer) http.Header {
	h := http.Header{}
	h.Set("X-Amzn-Requestid", fmt.Sprintf("%052d", requests.Add(1)))
	if a.ContentType != nil {
		h.Set("Content-Type", string(a.ContentType))
	}
	if a.HasChecksum {
		h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(a.Checksum), 10))
	}
	return h
}

// HTTPClient returns a client whose requests all are answered by the store, whatever their
// host is, without a network.
func (s *Store) HTTPClient() *http.Client { return &http.Client{Transport: transport{s.store}} }
