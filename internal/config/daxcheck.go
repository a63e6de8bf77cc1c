package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

var zoneName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (k *checker) dax(path string, s *Service) {
	d := s.DynamoDB.DAX
	k.daxListen(k.daxPath(path), s)
	if d.TLS != nil {
		k.tls(path+".tls", d.TLS)
	}
	if t := s.DAXTLS(); t != nil && t.ClientCA != "" {
		at := path
		if d.TLS != nil {
			at = path + ".tls.client_ca"
		}
		k.failf(at, "clients of DAX show no certificate, so none could connect; give dax a tls of its own without client_ca")
	}
	k.advertise(path+".advertise", d)
	if _, given := k.places[path+".zone"]; given && k.config.Cluster != nil && k.config.Cluster.Zone != "" && d.Zone != k.config.Cluster.Zone {
		k.failf(path+".zone", "%q is not the zone of this node, %q in cluster.zone; leave one of them out", d.Zone, k.config.Cluster.Zone)
	} else if !given && k.config.Cluster != nil {
		d.Zone = cmp.Or(k.config.Cluster.Zone, d.Zone)
	}
	if !zoneName().MatchString(d.Zone) {
		k.failf(path+".zone", "%q is no zone: up to 64 letters, digits, -, _ and .", d.Zone)
	}
	if store := s.DynamoDB.Origin.Dir(); d.Lists != "" && store != "" && k.config.Resolve(d.Lists) == k.config.Resolve(store) {
		k.failf(path+".lists", "is the store of this service; the lists need a directory of their own")
	}
	if l := &d.Limits; l.RequestBytes > l.BufferedBytes {
		k.failf(path+".limits", "request_bytes %s is above buffered_bytes, %s", l.RequestBytes, l.BufferedBytes)
	}
}

// daxPath returns the path of the address, which may be the whole value of dax.
func (k *checker) daxPath(path string) string {
	if _, given := k.places[path+".listen"]; given {
		return path + ".listen"
	}
	return path
}

func (k *checker) daxListen(path string, s *Service) {
	listen, auth := s.DynamoDB.DAX.Listen, &s.DynamoDB.Auth
	switch {
	case listen == "": // already reported
	case strings.HasPrefix(string(listen), "unix:"):
		k.failf(path, "%s is a Unix socket, and clients of DAX connect by TCP", listen)
	case auth.Mode == "none" && !auth.Insecure && !listen.Loopback():
		k.failf(path, "refused: %s is reachable from other machines, which would have all permissions of Kasoku's own credentials; "+
			"give the service keys and auth mode sigv4, listen on loopback, or set insecure: true in auth", listen)
	}
}

// advertise reports several addresses of one family: clients can be given only one.
func (k *checker) advertise(path string, d *DAX) {
	if _, given := k.places[path]; given && len(d.Advertise) == 0 && d.Advertise != nil {
		k.failf(path, "none: leave it out to use the address that a client connected to")
	}
	seen := map[bool]Advertised{}
	for i, a := range d.Advertise {
		host, _, ok := a.split()
		if !ok {
			continue // already reported
		}
		ip, err := netip.ParseAddr(host)
		if err != nil {
			if len(d.Advertise) > 1 {
				k.failf(fmt.Sprintf("%s[%d]", path, i), "%q is a name, which includes all its addresses: it must be the only element", a)
			}
			continue
		}
		if first, taken := seen[ip.Is4()]; taken {
			k.failf(fmt.Sprintf("%s[%d]", path, i), "%s is of the same family as %s; clients get one address of each", a, first)
		}
		seen[ip.Is4()] = a
	}
}
