package ring

import (
	"fmt"
	"net/netip"
	"strings"
)

// defaultPort is memcached's, which some clients leave out of labels and some
// add to them.
const defaultPort = "11211"

// verbatim is the label as it was given.
func verbatim(label string) (string, error) { return label, nil }

// splitPort splits at the last colon, unless that stands inside of an IPv6
// address's brackets. Without one, all is the host.
func splitPort(label string) (host, port string) {
	i := strings.LastIndexByte(label, ':')
	if i < 0 || strings.IndexByte(label[i:], ']') >= 0 {
		return label, ""
	}
	return label[:i], label[i+1:]
}

// isSocket tells paths of Unix sockets from hosts.
func isSocket(label string) bool {
	return strings.HasPrefix(label, "/") || strings.HasPrefix(label, "unix:")
}

// socketPath drops the "unix:" that clients which take bare paths don't know.
func socketPath(label string) string { return strings.TrimPrefix(label, "unix:") }

// portedLabel always has a port, as PECL memcache and dalli write it.
func portedLabel(label string) (string, error) {
	if isSocket(label) {
		return label, nil
	}
	if _, port := splitPort(label); port == "" {
		return label + ":" + defaultPort, nil
	}
	return label, nil
}

// portlessLabel leaves memcached's own port out.
func portlessLabel(label string) string {
	if host, port := splitPort(label); port == defaultPort && host != "" {
		return host
	}
	return label
}

// libmemcachedLabel leaves memcached's own port out. A Unix socket has port 0,
// which is written.
func libmemcachedLabel(label string) (string, error) {
	label = socketPath(label)
	if strings.HasPrefix(label, "/") {
		return label + ":0", nil
	}
	return portlessLabel(label), nil
}

// twemproxyLabel leaves memcached's own port out. A Unix socket keeps the colon
// that its weight is written behind. If the node has a name, that is the label
// and stays as it is.
func twemproxyLabel(label string) (string, error) {
	label = socketPath(label)
	if strings.HasPrefix(label, "/") {
		return label + ":", nil
	}
	return portlessLabel(label), nil
}

// spyStyleLabel is how libmemcached takes spymemcached's labels to be: a slash
// first, and a port whatever it is.
func spyStyleLabel(label string) (string, error) {
	if isSocket(label) {
		return "/" + socketPath(label) + ":0", nil
	}
	label, err := portedLabel(label)
	return "/" + label, err
}

// spymemcachedLabel is Java's text for an InetSocketAddress without a leading
// slash: "address:port", and "name/address:port" if it was made from a name.
// What a name resolved to can't be known here, so the label has to say it.
func spymemcachedLabel(label string) (string, error) {
	if strings.Contains(label, "/") {
		return strings.TrimPrefix(label, "/"), nil
	}
	host, port := splitPort(label)
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil {
		return "", fmt.Errorf("label %s: spymemcached hashes a name together with its address; write it as localhost/127.0.0.1:11211", label)
	}
	if port == "" {
		return "", fmt.Errorf("label %s: it has no port", label)
	}
	return label, nil
}
