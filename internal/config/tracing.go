package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Tracing specifies the requests that are exported as OpenTelemetry spans, and the collector that
// gets them. observability.md describes the spans. Environment variables such as OTEL_* and
// HTTP_PROXY have no effect.
type Tracing struct {
	// URL of the collector, which receives OTLP over HTTP with protobuf: for example
	// http://127.0.0.1:4318, to which /v1/traces is appended.
	OTLP URL `yaml:"otlp" required:"it is where spans are sent"`
	// Share of the requests without a traceparent field that are exported, 0 to 1. Requests with
	// one are exported if its sampled flag is set.
	Sample float64 `yaml:"sample" default:"0.01" min:"0" max:"1"`
	// Maximum number of requests that are exported in a second, so that clients that set the flag
	// can't flood the collector. Each has one or two spans.
	RequestsPerSecond int `yaml:"requests_per_second" default:"100" min:"1" max:"100000"`
	// Name of this service in traces: the attribute service.name.
	ServiceName string `yaml:"service_name" default:"kasoku"`
	// Header fields of requests to the collector, such as the key of an account.
	Headers []TraceHeader `yaml:"headers"`
	// Files for https. Left out, the collector is verified with the system's authorities.
	TLS *TraceTLS `yaml:"tls"`
	// Whether spans may be sent without encryption to another machine.
	Insecure bool `yaml:"insecure" default:"false"`
}

// TraceHeader is a header field for the collector. The files are read at the start and when the
// configuration is read again.
type TraceHeader struct {
	// Name of the field.
	Name string `yaml:"name" required:"a header field has a name"`
	// Name of the environment variable that holds the value.
	ValueEnv string `yaml:"value_env"`
	// File that holds the value, instead of value_env; white space at its end is ignored.
	ValueFile string `yaml:"value_file"`

	_ struct{} `yaml:"value" refuse:"the file is copied and committed; name an environment variable in value_env or a file in value_file"`

	value string
}

// Value returns the resolved value.
func (h *TraceHeader) Value() string { return h.value }

// TraceTLS is the encryption of connections to the collector. The files are read at the start and when
// the configuration is read again.
type TraceTLS struct {
	// PEM file with the authorities for the collector's certificate; left out: the system's.
	CA string `yaml:"ca"`
	// PEM file with the client's certificate, for collectors that require one.
	Cert string `yaml:"cert"`
	// PEM file with that certificate's private key.
	Key string `yaml:"key"`
	// Name that must be in the collector's certificate; left out: the host's.
	ServerName string `yaml:"server_name"`
}

// tracesPath is the path of spans below a collector's URL.
const tracesPath = "/v1/traces"

// Endpoint returns the URL to which spans are posted.
func (t *Tracing) Endpoint() string {
	base := strings.TrimSuffix(string(t.OTLP), "/")
	return strings.TrimSuffix(base, tracesPath) + tracesPath
}

func (k *checker) tracing(t *Tracing) {
	const path = "tracing"
	u, err := url.Parse(string(t.OTLP))
	if err != nil || t.OTLP == "" {
		return // already reported
	}
	switch loopback := Address(net.JoinHostPort(u.Hostname(), "0")).Loopback(); {
	case u.Scheme == "http" && !loopback && !t.Insecure:
		k.failf(path+".otlp", "%s would send spans to another machine without encryption: write https, or set insecure: true", t.OTLP)
	case t.Insecure && (u.Scheme == "https" || loopback):
		k.failf(path+".insecure", "has no effect with %s", t.OTLP)
	}
	if t.ServiceName == "" {
		k.failf(path+".service_name", "is empty: traces would have no name for this service")
	}
	if t.TLS != nil {
		if u.Scheme == "http" {
			k.failf(path+".tls", "has no effect with a URL that begins with http://")
		}
		k.clientTLS(path+".tls", t.TLS.CA, t.TLS.Cert, t.TLS.Key)
	}
	for i := range t.Headers {
		k.traceHeader(fmt.Sprintf("%s.headers[%d]", path, i), t.Headers[:i], &t.Headers[i])
	}
}

func (k *checker) traceHeader(path string, before []TraceHeader, h *TraceHeader) {
	h.value = k.secret(path, "value", h.ValueEnv, h.ValueFile)
	switch {
	case h.Name == "":
		return // already reported
	case !ascii.IsToken(h.Name):
		k.failf(path+".name", "%q is no name of a header field", h.Name)
	case slices.Contains([]string{"content-type", "content-length", "content-encoding", "host", "connection", "transfer-encoding", "user-agent"}, strings.ToLower(h.Name)):
		k.failf(path+".name", "%s is set by Kasoku", h.Name)
	case slices.ContainsFunc(before, func(o TraceHeader) bool { return strings.EqualFold(o.Name, h.Name) }):
		k.failf(path+".name", "%s is given twice", h.Name)
	case h.ValueEnv == "" && h.ValueFile == "":
		k.failf(path, "lacks a value: name an environment variable in value_env or a file in value_file")
	case strings.ContainsFunc(h.value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		k.failf(path, "the value has a line break or another control character")
	}
}
