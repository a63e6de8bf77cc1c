package ring

import (
	"fmt"
	"net/netip"
	"strings"
)

// defaultPort is memcached's port, which some clients omit from labels and some add to them.
const defaultPort = "11211"

// verbatim returns the label unchanged.
func verbatim(label string) (string, error) { return label, nil }

// splitPort splits at the last colon, unless that is within an IPv6 address's brackets.
// Without one, all is the host.
func splitPort(label string) (host, port string) {
	i := strings.LastIndexByte(label, ':')
	if i < 0 || strings.IndexByte(label[i:], ']') >= 0 {
		return label, ""
	}
	return label[:i], label[i+1:]
}

// isSocket reports whether a label is the path of a Unix socket.
func isSocket(label string) bool {
	return strings.HasPrefix(label, "/") || strings.HasPrefix(label, "unix:")
}

// socketPath removes the "unix:" that clients with bare paths do not use.
func socketPath(label string) string { return strings.TrimPrefix(label, "unix:") }

// portedLabel always has a port, as in PECL memcache and dalli.
func portedLabel(label string) (string, error) {
	if isSocket(label) {
		return label, nil
	}
	if _, port := splitPort(label); port == "" {
		return label + ":" + defaultPort, nil
	}
	return label, nil
}

// portlessLabel omits memcached's own port.
func portlessLabel(label string) string {
	if host, port := splitPort(label); port == defaultPort && host != "" {
		return host
	}
	return label
}

// libmemcachedLabel omits memcached's own port. A Unix socket has port 0, which is written.
func libmemcachedLabel(label string) (string, error) {
	label = socketPath(label)
	if strings.HasPrefix(label, "/") {
		return label + ":0", nil
	}
	return portlessLabel(label), nil
}

// twemproxyLabel omits memcached's own port. A Unix socket keeps the colon that precedes its
// weight. If the node has a name, that is the label, unchanged.
func twemproxyLabel(label string) (string, error) {
	label = socketPath(label)
	if strings.HasPrefix(label, "/") {
		return label + ":", nil
	}
	return portlessLabel(label), nil
}

// spyStyleLabel is libmemcached's version of spymemcached's labels: a slash first, and
// always a port.
func spyStyleLabel(label string) (string, error) {
	if isSocket(label) {
		return "/" + socketPath(label) + ":0", nil
	}
	label, err := portedLabel(label)
	return "/" + label, err
}

// spymemcachedLabel is Java's text for an InetSocketAddress without a leading slash:
// "address:port", and "name/address:port" if it was made from a name. The address of a name
// is unknown here, so the label must contain it.
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
