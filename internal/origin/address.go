package origin

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
)

// address is the location of an origin, parsed from its URL.
type address struct {
	secure bool
	// name is the host to dial and port its port; server is the name required in its
	// certificate.
	name, port, server string
	// host is the Host field, without the scheme's default port.
	host string
	// prefix is prepended to every path; it is escaped and has no trailing slash.
	prefix string
	// socket is the path of a Unix socket, dialled instead of name and port.
	socket string
}

// dialTarget returns the network and address to dial.
func (a *address) dialTarget() (network, address string) {
	if a.socket != "" {
		return "unix", a.socket
	}
	return "tcp", net.JoinHostPort(a.name, a.port)
}

// parseSocket parses unix:///path. The Host field is then localhost.
func parseSocket(text string, u *url.URL) (address, error) {
	if u.Host != "" || u.Opaque != "" || u.Path == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return address{}, fmt.Errorf("%q: a Unix socket is written unix:///path", text)
	}
	return address{name: "localhost", server: "localhost", host: "localhost", socket: u.Path}, nil
}

// Identity returns the canonical form of an origin's URL: scheme and host in lower case, the
// port explicit, and no trailing slash. A text that is no such URL is returned unchanged.
//
// For example, "HTTP://Example.com/" and "http://example.com:80" both become
// "http://example.com:80".
func Identity(text string) string {
	a, err := parseAddress(text)
	if err != nil {
		return text
	}
	scheme := "http"
	switch {
	case a.socket != "":
		return "unix://" + a.socket
	case a.secure:
		scheme = "https"
	}
	host := strings.ToLower(a.name)
	if ip, err := netip.ParseAddr(a.name); err == nil {
		host = ip.String()
	}
	return scheme + "://" + net.JoinHostPort(strings.TrimSuffix(host, "."), a.port) + a.prefix
}

func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return address{}, err
	}
	switch {
	case u.Scheme == "unix":
		return parseSocket(text, u)
	case u.Scheme != "http" && u.Scheme != "https":
		return address{}, fmt.Errorf("%q: the scheme must be http or https", text)
	case u.Hostname() == "":
		return address{}, fmt.Errorf("%q names no host", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return address{}, fmt.Errorf("%q may hold scheme, host, port and path only", text)
	}
	a := address{secure: u.Scheme == "https", name: u.Hostname(), port: u.Port(), prefix: strings.TrimSuffix(u.EscapedPath(), "/")}
	usual := "80"
	if a.secure {
		usual = "443"
	}
	a.server, _, _ = strings.Cut(a.name, "%") // the zone is local to this host
	if a.host = a.server; strings.Contains(a.host, ":") {
		a.host = "[" + a.host + "]"
	}
	if a.port == "" {
		a.port = usual
	} else if a.port != usual {
		a.host = net.JoinHostPort(a.server, a.port)
	}
	if !http1.ValidHost([]byte(a.host)) {
		return address{}, errors.New("the host " + a.host + " is not valid in a Host field; is it written in ASCII?")
	}
	return a, nil
}
