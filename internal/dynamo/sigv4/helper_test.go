package sigv4

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// noon is the time at which the tests' requests are signed.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const (
	region  = "ap-northeast-1"
	service = "dynamodb"
)

var keys = []Key{{"OTHER", "other"}, {"APPKEY", "s3cr3t"}}

// head builds a request from a target and "Name: value" lines. Names keep their spelling.
func head(method, target string, lines ...string) *http1.Request {
	r := &http1.Request{Method: []byte(method), Target: []byte(target), Minor: 1}
	path, query, _ := strings.Cut(target, "?")
	r.Path, r.RawQuery = []byte(path), []byte(query)
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ":")
		value = strings.Trim(value, " \t")
		r.Fields = append(r.Fields, http1.Field{Name: []byte(name), Value: []byte(value)})
		if strings.EqualFold(name, "Host") {
			r.Host = []byte(value)
		}
	}
	return r
}

// sent returns the request that the server receives for r, which a client has signed.
func sent(r *http.Request, body []byte) *http1.Request {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	lines := []string{"Host: " + host}
	if len(body) > 0 {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, v := range r.Header[name] {
			lines = append(lines, name+": "+v)
		}
	}
	return head(r.Method, r.URL.RequestURI(), lines...)
}

func field(name, value string) http1.Field {
	return http1.Field{Name: []byte(name), Value: []byte(value)}
}
