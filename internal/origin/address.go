package origin

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/http1"
)

// address is where an origin is, taken from its URL.
type address struct {
	secure bool
	// name is the host to dial and port its port; server is the name that its
	// certificate must have.
	name, port, server string
	// host is the Host field: without the port if that is the scheme's usual one.
	host string
	// prefix goes before every path, escaped and without a slash at its end.
	prefix string
}

func parseAddress(text string) (address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return address{}, err
	}
	switch {
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
	a.server, _, _ = strings.Cut(a.name, "%") // an address's zone is nobody else's business
	if a.host = a.server; strings.Contains(a.host, ":") {
		a.host = "[" + a.host + "]"
	}
	if a.port == "" {
		a.port = usual
	} else if a.port != usual {
		a.host = net.JoinHostPort(a.server, a.port)
	}
	if !http1.ValidHost([]byte(a.host)) {
		return address{}, errors.New("the host " + a.host + " can't stand in a Host field; is it written in ASCII?")
	}
	return a, nil
}
