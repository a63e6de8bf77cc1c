package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// domainName matches a DNS name with at least two labels.
var domainName = lazyregexp.New(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxDomains is the number of names that authorities accept in a certificate.
const maxDomains = 100

// acme checks how a certificate is obtained.
func (k *checker) acme(path string, t *TLS) {
	if t.Cert != "" || t.Key != "" {
		k.failf(path, "has both acme and files for the certificate; leave one of them out")
	}
	a := t.ACME
	path += ".acme"
	if _, given := k.places[path+".domains"]; given && len(a.Domains) == 0 {
		k.failf(path+".domains", "must have at least one name")
	}
	if len(a.Domains) > maxDomains {
		k.failf(path+".domains", "%d names are more than the %d of a certificate", len(a.Domains), maxDomains)
	}
	had := map[string]bool{}
	for i, domain := range a.Domains {
		at := fmt.Sprintf("%s.domains[%d]", path, i)
		k.domain(at, domain)
		if had[domain] {
			k.failf(at, "%q is in the list already", domain)
		}
		had[domain] = true
	}
	if u, err := url.Parse(a.Directory); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		k.failf(path+".directory", "%q is no https URL of a directory; write for instance https://acme.example/directory", a.Directory)
	}
	if a.Email != "" && !strings.Contains(a.Email, "@") || strings.ContainsAny(a.Email, " \t\r\n,?") {
		k.failf(path+".email", "%q is no address", a.Email)
	}
	if a.Cache == "" {
		k.failf(path+".cache", "must not be empty: a restart would request another certificate")
	}
	k.authorities(path+".ca", a.CA)
}

// domain reports a name that no authority can verify over a connection.
func (k *checker) domain(path, name string) {
	switch _, err := netip.ParseAddr(name); {
	case err == nil:
		k.failf(path, "%s is an address; certificates are for names", name)
	case strings.HasPrefix(name, "*."):
		k.failf(path, "%q can't be verified over a connection; list the names, or give cert and key", name)
	case len(name) > 253 || !domainName().MatchString(name):
		k.failf(path, "%q is no domain, such as www.example.com, in lower case", name)
	}
}
