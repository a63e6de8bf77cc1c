package sigv4

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/http1"
)

var appKey = aws.Credentials{AccessKeyID: "APPKEY", SecretAccessKey: "s3cr3t"}

// example returns a request that the SDK signed, as the server receives it, and its body.
func example(target string) (*http1.Request, []byte) {
	body := []byte(`{"TableName":"orders","Key":{"id":{"S":"1"}}}`)
	r, err := http.NewRequest("POST", "http://kasoku.internal:8000"+target, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	r.Header.Set("Amz-Sdk-Invocation-Id", "0d9a4f0e-3a05-4b0b-8c0d-7f1f9d3c1a2b")
	r.Header.Set("Amz-Sdk-Request", "attempt=1; max=3")
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "aws-sdk-go-v2/1.47.6 ua/2.1 os/linux lang/go#1.26.8 md/GOOS#linux md/GOARCH#amd64 api/dynamodb#1.73.0")
	if err := v4.NewSigner().SignHTTP(context.Background(), appKey, r, hashOf(body), service, region, noon); err != nil {
		panic(err)
	}
	return sent(r, body), body
}

// presigned is like example, with the signature in the query.
func presigned() (*http1.Request, []byte) {
	body := []byte("{}")
	r, err := http.NewRequest("POST", "http://kasoku.internal:8000/?X-Amz-Expires=60", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	uri, _, err := v4.NewSigner().PresignHTTP(context.Background(), appKey, r, hashOf(body), service, region, noon)
	if err != nil {
		panic(err)
	}
	if r.URL, err = url.Parse(uri); err != nil {
		panic(err)
	}
	return sent(r, body), body
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// randomRequest generates a request before it is signed.
func randomRequest(t *rapid.T) (*http.Request, []byte) {
	body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
	// No "." or ".." and no empty segments: the SDK does not normalise paths.
	segment := rapid.StringMatching(`[a-zA-Z0-9_~ %+:@é-]{1,8}`)
	path := "/" + strings.Join(rapid.SliceOfN(segment, 0, 3).Draw(t, "path"), "/")
	text := rapid.StringMatching(`[a-zA-Z0-9_.~ !&=+%/é-]{0,8}`)
	query := make(url.Values)
	for range rapid.IntRange(0, 4).Draw(t, "parameters") {
		query.Add(text.Draw(t, "name"), text.Draw(t, "value"))
	}
	u := &url.URL{Scheme: "https", Host: rapid.SampledFrom([]string{"o", "127.0.0.1:8000", "[::1]:8000", "o.example:443"}).Draw(t, "host"),
		Path: path, RawQuery: query.Encode()}
	method := rapid.SampledFrom([]string{"POST", "GET", "PUT"}).Draw(t, "method")
	r, err := http.NewRequest(method, u.String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	name := rapid.StringMatching(`[A-Z][a-z0-9-]{0,6}|X-Amz-[A-Z][a-z]{0,3}`)
	value := rapid.StringMatching(`[!-~]( {0,3}[!-~]){0,6}`)
	for range rapid.IntRange(0, 5).Draw(t, "headers") {
		n := http.CanonicalHeaderKey(name.Draw(t, "header"))
		if slices.Contains([]string{"Authorization", "Host", "Expect", "Date", "X-Amz-Date"}, n) {
			continue
		}
		r.Header.Add(n, value.Draw(t, "header value"))
	}
	return r, body
}

// signedBySDK signs r in the header or in the query.
func signedBySDK(t *rapid.T, r *http.Request, body []byte, presign bool) *http1.Request {
	if !presign {
		if err := v4.NewSigner().SignHTTP(t.Context(), appKey, r, hashOf(body), service, region, noon); err != nil {
			t.Fatal(err)
		}
		return sent(r, body)
	}
	uri, header, err := v4.NewSigner().PresignHTTP(t.Context(), appKey, r, hashOf(body), service, region, noon)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	r.URL = u
	r.Host = header.Get("Host")
	header.Del("Host")
	header.Del("Content-Length")
	r.Header = header
	return sent(r, body)
}

// TestAgreesWithSDK signs random requests with the SDK: all verify, and none does after one of its
// bits was flipped.
func TestAgreesWithSDK(t *testing.T) {
	v := NewVerifier(region, service, keys)
	rapid.Check(t, func(t *rapid.T) {
		plain, body := randomRequest(t)
		r := signedBySDK(t, plain, body, rapid.Bool().Draw(t, "presigned"))
		now := noon.Add(time.Duration(rapid.IntRange(-900, 900).Draw(t, "seconds")) * time.Second)
		if key, err := v.Verify(r, body, now); err != nil || key != 1 {
			t.Fatalf("got key %d, error %v for %s", key, err, show(r))
		}
		what, before := flip(t, r, body)
		if r.RawQuery != nil && sameQuery(before, r.RawQuery) {
			return // %2f for %2F: another spelling of the same
		}
		if _, err := v.Verify(r, body, noon); err == nil {
			t.Fatalf("verified with a bit of the %s flipped: %s", what, show(r))
		}
	})
}

// flip changes one bit covered by a signature, in place. It returns the original query if it
// changed the query.
func flip(t *rapid.T, r *http1.Request, body []byte) (what string, query []byte) {
	type place struct {
		what string
		b    []byte
	}
	places := []place{{"method", r.Method}, {"path", r.Path}, {"host", r.Host}}
	if len(body) > 0 {
		places = append(places, place{"body", body})
	}
	if len(r.RawQuery) > 0 {
		places = append(places, place{"query", r.RawQuery})
	}
	for _, f := range r.Fields {
		switch strings.ToLower(string(f.Name)) {
		case "host", "user-agent", "x-amzn-trace-id", "transfer-encoding":
		default:
			places = append(places, place{string(f.Name), f.Value})
		}
	}
	p := rapid.SampledFrom(places).Draw(t, "place")
	if p.what == "query" {
		query = bytes.Clone(p.b)
	}
	i := rapid.IntRange(0, len(p.b)-1).Draw(t, "byte")
	p.b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	return p.what, query
}

func sameQuery(a, b []byte) bool {
	x, err1 := url.ParseQuery(string(a))
	y, err2 := url.ParseQuery(string(b))
	return a != nil && err1 == nil && err2 == nil && x.Encode() == y.Encode()
}

func show(r *http1.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s?%s", r.Method, r.Path, r.RawQuery)
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "\n%s: %q", f.Name, f.Value)
	}
	return b.String()
}

// TestKeys looks keys up. Of two with one ID the first counts.
func TestKeys(t *testing.T) {
	r, body := example("/")
	f := func(want int, ok bool, keys ...Key) {
		t.Helper()
		key, err := NewVerifier(region, service, keys).Verify(r, body, noon)
		if (err == nil) != ok || ok && key != want {
			t.Errorf("keys %v: got key %d, error %v", keys, key, err)
		}
	}
	f(0, true, Key{"APPKEY", "s3cr3t"})
	f(2, true, Key{"A", "s3cr3t"}, Key{"B", "x"}, Key{"APPKEY", "s3cr3t"})
	f(0, false, Key{"APPKEY", "s3cr3T"})
	f(0, true, Key{"APPKEY", "s3cr3t"}, Key{"APPKEY", "x"})
	f(0, false, Key{"APPKEY", "x"}, Key{"APPKEY", "s3cr3t"})
	f(0, false)
}
