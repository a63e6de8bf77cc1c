package nginximport

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// defaultAddress is where to listen if a file does not specify it.
const defaultAddress = "127.0.0.1:10080"

// listen returns the first address that a server listens on.
func (t *translator) listen(s scope) string {
	list := s.own().Named("listen")
	if len(list) == 0 {
		if len(s) == 1 {
			return defaultAddress
		}
		return ":80"
	}
	var at string
	for _, d := range list {
		a := listenAddress(d.Arg(0))
		switch {
		case at == "":
			at = a
		case a != at:
			t.note(d.Line, "listen %s: a service has one address; make a second service, or forward the other one", d.Arg(0))
		}
		if slices.Contains(d.Args, "ssl") {
			t.note(d.Line, "listen ... ssl: give the service its certificate with tls: {cert: ..., key: ...}; it is not translated")
		}
		if slices.Contains(d.Args, "proxy_protocol") {
			t.note(d.Line, "listen ... proxy_protocol: set proxy_protocol: true")
		}
	}
	return at
}

func listenAddress(a string) string {
	if strings.HasPrefix(a, "unix:") {
		return a
	}
	if _, err := strconv.Atoi(a); err == nil {
		return ":" + a
	}
	host, port := splitAddress(a)
	port = cmp.Or(port, "80")
	if host == "*" || host == "0.0.0.0" || host == "[::]" {
		return ":" + port
	}
	return host + ":" + port
}

// address returns the requested address or, if it is taken, the next free one on this
// machine.
func (t *translator) address(asked string) string {
	for port := 10081; t.listening[asked]; port++ {
		asked = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	t.listening[asked] = true
	return asked
}

func (t *translator) serverName(s scope) string {
	d := s.own().Last("server_name")
	if d == nil && len(s) > 1 {
		d = s[len(s)-2].Last("server_name")
	}
	if d == nil {
		return ""
	}
	return d.Arg(0)
}

var notInNames = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// name returns a name for a service: the name of its upstream or of the server, if it is a
// valid service name.
func (t *translator) name(s scope, u *upstream) string {
	name := strings.Trim(notInNames().ReplaceAllString(u.name, "-"), "-")
	if _, port := splitAddress(u.name); port != "" || name == "" || strings.HasPrefix(u.name, "unix:") {
		name = strings.Trim(notInNames().ReplaceAllString(t.serverName(s), "-"), "-")
	}
	if name == "" || name == "_" {
		name = "memcached"
	}
	name = name[:min(len(name), 50)]
	unique := name
	for i := 2; t.named[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	t.named[unique] = true
	return unique
}
