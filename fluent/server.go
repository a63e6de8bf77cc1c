package fluent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/fluent/internal/forward"
)

// defaultPort is the port of Fluentd's forward input.
const defaultPort = "24224"

// server is a parsed address of New.
type server struct {
	name    string // as it was given
	network string // "tcp" or "unix"
	address string // "host:port" or a file's name
	tls     bool
}

// parseServers parses the addresses of New and validates them against the options.
func parseServers(names []string, o *options) ([]server, error) {
	if len(names) == 0 {
		return nil, errors.New("fluent: no server given")
	}
	seen := make(map[server]bool, len(names))
	servers := make([]server, 0, len(names))
	secure := false
	for _, name := range names {
		s, err := parseServer(name)
		if err != nil {
			return nil, err
		}
		same := s
		same.name = ""
		if seen[same] {
			return nil, fmt.Errorf("fluent: server %q is given twice", name)
		}
		seen[same] = true
		if o.heartbeat == UDPHeartbeat && s.network != "tcp" {
			return nil, fmt.Errorf("fluent: server %q has no port for heartbeats by UDP", name)
		}
		secure = secure || s.tls
		servers = append(servers, s)
	}
	if o.tls != nil && !secure {
		return nil, errors.New("fluent: WithTLS is given, but no server is written as tls://host:port")
	}
	return servers, nil
}

// parseServer reads one address. See New for the forms.
func parseServer(name string) (server, error) {
	scheme, rest, found := strings.Cut(name, "://")
	if !found {
		if path, isUnix := strings.CutPrefix(name, "unix:"); isUnix {
			scheme, rest = "unix", path
		} else {
			scheme, rest = "tcp", name
		}
	}
	s := server{name: name, network: "tcp", tls: scheme == "tls"}
	var err error
	switch scheme {
	case "tcp", "tls":
		s.address, err = hostPort(rest)
	case "unix":
		s.network, s.address = "unix", rest
		if rest == "" {
			err = errors.New("no file")
		}
	default:
		err = fmt.Errorf("%q is none of tcp, tls and unix", scheme)
	}
	if err != nil {
		return server{}, fmt.Errorf("fluent: server %q: %w", name, err)
	}
	return s, nil
}

// hostPort validates host, host:port, [ipv6] and [ipv6]:port, and adds a missing port.
func hostPort(s string) (string, error) {
	if strings.ContainsAny(s, "/?#@ ") {
		return "", errors.New("only a host and a port can be given")
	}
	host, port := s, defaultPort
	switch colons := strings.Count(s, ":"); {
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		host = s[1 : len(s)-1]
	case colons == 1 || strings.HasPrefix(s, "["):
		var err error
		if host, port, err = net.SplitHostPort(s); err != nil {
			return "", errors.New("not a host and a port")
		}
	case colons > 1 && net.ParseIP(s) == nil:
		return "", errors.New("not a host and a port")
	}
	if host == "" {
		return "", errors.New("no host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return net.JoinHostPort(host, port), nil
}

// connection returns the options for connecting and sending to s.
func (s server) connection(o *options) forward.Options {
	f := forward.Options{
		Network:      s.network,
		Address:      s.address,
		Dial:         o.dial,
		SharedKey:    o.sharedKey,
		Hostname:     o.hostname,
		Username:     o.username,
		Password:     o.password,
		DialTimeout:  o.dialTimeout,
		WriteTimeout: o.writeTimeout,
		Single:       o.mode == Message,
		Seconds:      o.seconds,
	}
	switch o.compression {
	case Gzip:
		f.Compression = forward.Gzip
	case Zstd:
		f.Compression = forward.Zstd
	}
	if s.tls {
		f.TLS = o.tls
		if f.TLS == nil {
			f.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	return f
}
