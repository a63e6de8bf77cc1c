package fault

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Proxy returns a handler that forwards requests unchanged to the server at origin. Wrapped
// by an Injector it makes a real server misbehave.
func Proxy(origin string) (*httputil.ReverseProxy, error) {
	to, err := url.Parse(origin)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	}, nil
}
