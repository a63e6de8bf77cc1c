package config

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// ReadAdmin reads the admin section of a file, for commands that connect to the process
// running with that file. Mistakes elsewhere in the file are ignored, and so are unset
// secrets of other sections. token is used where the file's own token can't be read. The keys token
// is empty if it can't be read.
func ReadAdmin(file string, env func(string) (string, bool), token string) (*Admin, error) {
	c, d, err := readAny(file, env)
	if err != nil {
		return nil, err
	}
	(&checker{decoder: d, config: c}).admin(&c.Admin)
	for _, p := range d.problems {
		if token != "" && strings.HasPrefix(p.Path, "admin.token_") || strings.HasPrefix(p.Path, "admin.keys_token_") {
			continue
		}
		if p.Path == "admin" || strings.HasPrefix(p.Path, "admin.") {
			p.Message = d.used.redact(p.Message)
			return nil, errors.New(p.String())
		}
	}
	c.Admin.token = cmp.Or(c.Admin.token, token)
	return &c.Admin, nil
}

// readAny decodes a file without checking it. Its mistakes are those of the decoder; only text that
// is not YAML is an error.
func readAny(file string, env func(string) (string, bool)) (*Config, *decoder, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	c := Default()
	c.dir = filepath.Dir(file)
	d := &decoder{file: file, env: env, used: redactor{}, needs: "a service"}
	d.decode(data, reflect.ValueOf(c).Elem())
	if len(d.places) == 0 && len(d.problems) > 0 {
		return nil, nil, errors.New(d.problems[0].String())
	}
	return c, d, nil
}

// URL returns the address of the listener for a process on this machine: a URL, or
// unix:/path. It is empty if the port is chosen only at the start.
func (a *Admin) URL() string {
	if strings.HasPrefix(string(a.Listen), "unix:") {
		return string(a.Listen)
	}
	return a.Listen.local()
}

// local returns the URL of a TCP address on this machine.
func (a Address) local() string {
	host, port, err := net.SplitHostPort(string(a))
	if err != nil || port == "0" {
		return ""
	}
	switch ip, _ := netip.ParseAddr(host); {
	case host == "" || ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case ip.IsUnspecified():
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
