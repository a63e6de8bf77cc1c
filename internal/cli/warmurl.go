package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
)

// urlWarmer fills the cache of a service by requests to its listener, like those of a client
// without credentials.
type urlWarmer struct {
	client  *http.Client
	scheme  string // of the listener
	anyHost bool   // the host of a URL is of no importance
}

// newURLWarmer returns the warmer of a service. at is the address of its listener, and proxied
// whether connections begin with the PROXY protocol.
func newURLWarmer(s *config.Service, at net.Addr, secure, proxied bool) *urlWarmer {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, at.Network(), at.String())
		if err == nil && proxied {
			_, err = io.WriteString(conn, "PROXY UNKNOWN\r\n")
		}
		return conn, err
	}
	w := &urlWarmer{scheme: "http", anyHost: s.HTTP == nil}
	if secure {
		w.scheme = "https"
	}
	w.client = &http.Client{
		Transport: &http.Transport{
			DialContext: dial, DisableKeepAlives: true, DisableCompression: true,
			// The certificate is this process's own.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w
}

// Warm implements admin.Warmer. The entry is a URL.
func (w *urlWarmer) Warm(ctx context.Context, entry string) (admin.WarmOutcome, error) {
	u, err := w.url(entry)
	if err != nil {
		return "", fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	r.Header.Set("User-Agent", "kasoku-warm")
	resp, err := w.client.Do(r)
	if err != nil {
		return "", fmt.Errorf("no answer: %w", errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", fmt.Errorf("the answer broke off: %w", err)
	}
	switch how := ownCacheStatus(resp.Header); {
	case how["hit"]:
		return admin.WarmPresent, nil
	case how["stored"]:
		return admin.WarmFilled, nil
	case resp.StatusCode >= http.StatusBadRequest:
		return "", fmt.Errorf("the answer is %s", resp.Status)
	}
	return admin.WarmUncacheable, nil
}

// url parses an entry: a URL as clients request it, or a path where the host is of no importance.
func (w *urlWarmer) url(entry string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(entry))
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/") && w.anyHost {
		u.Scheme, u.Host = w.scheme, "localhost"
		return u, nil
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
		want := "a URL as clients request it, for example http://shop.example/a"
		if w.anyHost {
			want = "a path, for example /a, or a URL"
		}
		return nil, fmt.Errorf("%q is not %s", entry, want)
	case u.Scheme != w.scheme && !w.anyHost:
		return nil, fmt.Errorf("clients speak %s to the service; write %s://%s%s", w.scheme, w.scheme, u.Host, u.RequestURI())
	}
	u.Scheme = w.scheme
	return u, nil
}

// ownCacheStatus returns the parameters in Kasoku's own member of the Cache-Status field, which is
// the last one.
func ownCacheStatus(h http.Header) map[string]bool {
	lines := h.Values("Cache-Status")
	params := make(map[string]bool)
	if len(lines) == 0 {
		return params
	}
	last := lines[len(lines)-1]
	for p := range strings.SplitSeq(last[strings.LastIndexByte(last, ',')+1:], ";") {
		params[strings.TrimSpace(p)] = true
	}
	return params
}
