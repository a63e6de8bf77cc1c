package fluent

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

func TestParseServer(t *testing.T) {
	f := func(name, network, address string, secure bool) {
		t.Helper()
		got, err := parseServer(name)
		if want := (server{name, network, address, secure}); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	f("fluentd", "tcp", "fluentd:24224", false)
	f("fluentd:1234", "tcp", "fluentd:1234", false)
	f("127.0.0.1", "tcp", "127.0.0.1:24224", false)
	f("tcp://fluentd", "tcp", "fluentd:24224", false)
	f("tcp://fluentd:65535", "tcp", "fluentd:65535", false)
	f("tls://fluentd", "tcp", "fluentd:24224", true)
	f("tls://fluentd:1", "tcp", "fluentd:1", true)
	f("[::1]:1234", "tcp", "[::1]:1234", false)
	f("[::1]", "tcp", "[::1]:24224", false)
	f("::1", "tcp", "[::1]:24224", false)
	f("tls://[fe80::1%eth0]:5", "tcp", "[fe80::1%eth0]:5", true)
	f("unix:///run/fluent.sock", "unix", "/run/fluent.sock", false)
	f("unix:/run/fluent.sock", "unix", "/run/fluent.sock", false)
	f("unix:relative.sock", "unix", "relative.sock", false)
}

func TestParseServerFailure(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		_, err := parseServer(name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("parseServer(%q) = %v; want %q", name, err, want)
		}
	}
	f("", "no host")
	f(":24224", "no host")
	f("tcp://", "no host")
	f("tls://:1", "no host")
	f("a:", "port")
	f("a:b", "port")
	f("a:0", "port")
	f("a:65536", "port")
	f("a:-1", "port")
	f("a:1:2", "not a host and a port")
	f("[::1", "not a host and a port")
	f("[::1]x", "not a host and a port")
	f("a/b", "only a host and a port")
	f("tcp://a:1/", "only a host and a port")
	f("tcp://user@a:1", "only a host and a port")
	f("a b", "only a host and a port")
	f("http://a", `"http" is none of`)
	f("TCP://a", `"TCP" is none of`)
	f("unix:", "no file")
	f("unix://", "no file")
}

func TestParseServers(t *testing.T) {
	f := func(want string, names []string, opts ...Option) {
		t.Helper()
		o := defaultOptions()
		for _, option := range opts {
			option(&o)
		}
		_, err := newDelivery(names, &o, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %q", names, err, want)
		}
	}
	f("", []string{"a", "b", "a:1", "tls://a", "unix:/a"})
	f("no server", nil)
	f("given twice", []string{"a", "b", "tcp://a:24224"})
	f("no host", []string{"a", ""})
	f("WithTLS", []string{"a"}, WithTLS(&tls.Config{}))
	f("", []string{"a", "tls://b"}, WithTLS(&tls.Config{}))
	f("by UDP", []string{"a", "unix:/b"}, WithHeartbeat(UDPHeartbeat, time.Second))
	f("", []string{"unix:/b"}, WithHeartbeat(ConnectHeartbeat, time.Second))
}
