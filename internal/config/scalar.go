package config

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// scalar is a value written as one word. set parses the word; its error describes the
// allowed values.
type scalar interface {
	set(text string) error
	fmt.Stringer
}

// Duration is a length of time, for example 250ms, 30s, 5m, 1h30m or 7d.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d *Duration) set(text string) error {
	rest, days := text, time.Duration(0)
	if head, tail, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return errDuration
		}
		rest, days = tail, time.Duration(n)*24*time.Hour
	}
	var more time.Duration
	if rest != "" || days == 0 {
		if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
			return fmt.Errorf("lacks a unit: write %ss or %sms", text, text)
		}
		var err error
		if more, err = time.ParseDuration(rest); err != nil {
			return errDuration
		}
	}
	if more < 0 {
		return fmt.Errorf("must not be negative")
	}
	if *d = Duration(days + more); *d < 0 {
		return errDuration
	}
	return nil
}

var errDuration = fmt.Errorf("is no length of time; write for instance 250ms, 30s, 5m or 1h30m")

// String returns d as it is written in the file: 5m, not 5m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Size is a number of bytes, for example 4096, 512KiB, 1GiB or 2GB.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

func (s *Size) set(text string) error {
	number, unit := text, int64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f*float64(unit) >= math.MaxInt64 {
		return fmt.Errorf("is no size; write for instance 4096, 512KiB, 256MiB or 1GiB")
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		*s = Size(n * unit)
	} else {
		*s = Size(f * float64(unit))
	}
	return nil
}

// String returns s in the largest binary unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits[:4] {
		if s > 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Address is an address to listen on: host:port, or unix:/path for a Unix socket.
type Address string

func (a *Address) set(text string) error {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if path == "" || strings.Contains(path, "\x00") || len(path) > 100 {
			return fmt.Errorf("needs the path of a socket after the colon, of at most 100 bytes")
		}
		*a = Address(text)
		return nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("is no address; write host:port, for instance 127.0.0.1:8000, [::1]:8000, :8000 or unix:/path")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("has no port from 0 to 65535 after the colon")
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("has a port that is not written as a plain number")
	}
	if strings.ContainsAny(host, "/ \t") || strings.Contains(host, "://") {
		return fmt.Errorf("has a host that is neither a name nor an address")
	}
	*a = Address(text)
	return nil
}

func (a Address) String() string { return string(a) }

// Loopback reports whether only this machine can connect.
func (a Address) Loopback() bool {
	if strings.HasPrefix(string(a), "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(string(a))
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// overlaps reports whether a and b can't both be listened on.
func (a Address) overlaps(b Address) bool {
	if strings.HasPrefix(string(a), "unix:") {
		return a == b
	}
	hostA, portA, errA := net.SplitHostPort(string(a))
	hostB, portB, errB := net.SplitHostPort(string(b))
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return sameHost(hostA, hostB) || anyHost(hostA) || anyHost(hostB)
}

func anyHost(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

func sameHost(a, b string) bool {
	if a == "localhost" {
		a = "127.0.0.1"
	}
	if b == "localhost" {
		b = "127.0.0.1"
	}
	return a == b
}

// Advertised is an address for clients to connect to: host:port, or a host alone if the port
// is implied.
type Advertised string

func (a *Advertised) set(text string) error {
	if err := reachable(text, "10.0.0.5:8111, dax.example.com or [2001:db8::5]:8111", "clients"); err != nil {
		return err
	}
	*a = Advertised(text)
	return nil
}

// reachable returns an error, with examples, for a text that is no address to connect to.
func reachable(text, examples, clients string) error {
	host, port, ok := Advertised(text).split()
	switch {
	case !ok || strings.Trim(host, "0123456789") == "" || strings.ContainsAny(host, "/ \t:") && !isIP(host):
		return fmt.Errorf("is nothing to connect to; write host:port or a host alone, for instance %s", examples)
	case unspecified(host):
		return fmt.Errorf("means every address, and %s need one that they can reach", clients)
	case port != "":
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return fmt.Errorf("has no port from 1 to 65535 after the colon")
		}
	}
	return nil
}

func (a Advertised) String() string { return string(a) }

// Split returns the host, a name or an address, and the port, 0 if there is none.
func (a Advertised) Split() (host string, port uint16) {
	host, text, _ := a.split()
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return host, 0
	}
	return host, uint16(n)
}

func (a Advertised) split() (host, port string, ok bool) {
	text := string(a)
	if isIP(text) || !strings.Contains(text, ":") {
		return text, "", text != ""
	}
	host, port, err := net.SplitHostPort(text)
	return host, port, err == nil && port != ""
}

func unspecified(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsUnspecified()
}

func isIP(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Zone() == ""
}

// URL is the address of an HTTP origin.
type URL string

func (u *URL) set(text string) error {
	p, err := url.Parse(text)
	switch {
	case err != nil || p.Opaque != "" || p.Host == "" || p.Scheme != "http" && p.Scheme != "https":
		return fmt.Errorf("is no URL of an HTTP server; write for instance http://127.0.0.1:8001 or https://app.example.com")
	case p.User != nil:
		return fmt.Errorf("must not hold a user name or password")
	case p.RawQuery != "" || p.Fragment != "":
		return fmt.Errorf("must not have a query or a fragment")
	}
	*u = URL(text)
	return nil
}

func (u URL) String() string { return string(u) }

// path returns the URL's path.
func (u URL) path() string {
	p, err := url.Parse(string(u))
	if err != nil {
		return ""
	}
	return p.Path
}

// reaches reports whether a request to u certainly arrives at the listener: u has the
// listener's host, or the listener has all addresses and u is on this machine.
func (u URL) reaches(listener Address) bool {
	p, err := url.Parse(string(u))
	if err != nil {
		return false
	}
	port := p.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.Scheme]
	}
	to := Address(net.JoinHostPort(p.Hostname(), port))
	host, _, err := net.SplitHostPort(string(listener))
	return err == nil && to.overlaps(listener) && (!anyHost(host) || to.Loopback() || anyHost(p.Hostname()))
}

// Upstream is the address of an HTTP origin: its [URL], or unix:///path for a Unix socket.
type Upstream string

const socketPrefix = "unix://"

func (u *Upstream) set(text string) error {
	if path, ok := strings.CutPrefix(text, socketPrefix); ok {
		if len(path) < 2 || path[0] != '/' || strings.HasSuffix(path, "/") || strings.ContainsAny(path, "\x00?#%") || len(path) > 100 {
			return fmt.Errorf("needs the absolute path of a socket after unix://, of at most 100 bytes without ?, # and %%; write for instance unix:///run/app.sock")
		}
		*u = Upstream(text)
		return nil
	}
	var at URL
	if err := at.set(text); err != nil {
		return fmt.Errorf("%w; or unix:///path for a Unix socket", err)
	}
	*u = Upstream(at)
	return nil
}

func (u Upstream) String() string { return string(u) }

// path returns the URL's path, "" for a socket.
func (u Upstream) path() string {
	if strings.HasPrefix(string(u), socketPrefix) {
		return ""
	}
	return URL(u).path()
}

// reaches reports whether a request to u certainly arrives at the listener.
func (u Upstream) reaches(listener Address) bool {
	if path, ok := strings.CutPrefix(string(u), socketPrefix); ok {
		return string(listener) == "unix:"+path
	}
	return URL(u).reaches(listener)
}

// Origin is the store of a dynamodb service: its [URL], or embedded:DIR or embedded:memory for
// the store inside Kasoku.
type Origin string

const (
	embeddedPrefix = "embedded:"
	embeddedMemory = embeddedPrefix + "memory"
)

func (o *Origin) set(text string) error {
	if dir, ok := strings.CutPrefix(text, embeddedPrefix); ok {
		if dir == "" || strings.Contains(dir, "\x00") {
			return fmt.Errorf("needs the path of a directory or memory after the colon; write for instance embedded:./data")
		}
		*o = Origin(text)
		return nil
	}
	var u URL
	if err := u.set(text); err != nil {
		return fmt.Errorf("%w; or embedded:DIR or embedded:memory for the store inside Kasoku", err)
	}
	*o = Origin(u)
	return nil
}

func (o Origin) String() string { return string(o) }

// Embedded reports whether the store is inside Kasoku.
func (o Origin) Embedded() bool { return strings.HasPrefix(string(o), embeddedPrefix) }

// Dir returns the directory of an embedded store, as written, or "" for one in memory and for
// a URL.
func (o Origin) Dir() string {
	dir, ok := strings.CutPrefix(string(o), embeddedPrefix)
	if !ok || o == embeddedMemory {
		return ""
	}
	return dir
}

// RefreshAhead is the last share of a TTL in which a hit starts a refresh; 0 is never.
type RefreshAhead float64

func (r *RefreshAhead) set(text string) error {
	switch text {
	case "true":
		*r = 0.1
		return nil
	case "false":
		*r = 0
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 0.9) {
		return fmt.Errorf("must be true, false or a share of the TTL from 0 to 0.9")
	}
	*r = RefreshAhead(f)
	return nil
}

func (r RefreshAhead) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) }
