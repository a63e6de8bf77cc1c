package balance

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"reflect"
	"testing"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// pair is a TLS configuration as it is made from files.
func pair(t *testing.T, cert, key []byte) *tls.Config {
	t.Helper()
	c, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{c}, ServerName: "a", NextProtos: []string{"http/1.1"}}
}

// other gives a field a value that it does not have in pair's.
func other(t *testing.T, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.Func:
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 2, 2))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
		field.SetMapIndex(reflect.ValueOf("a"), reflect.Zero(field.Type().Elem()))
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Array:
		field.Index(0).SetUint(1)
	case reflect.Bool:
		field.SetBool(true)
	case reflect.String:
		field.SetString("other")
	case reflect.Int:
		field.SetInt(1)
	case reflect.Uint16:
		field.SetUint(1)
	case reflect.Interface:
		for _, v := range []any{os.Stdin, tls.NewLRUClientSessionCache(1)} {
			if reflect.TypeOf(v).Implements(field.Type()) {
				field.Set(reflect.ValueOf(v))
				return
			}
		}
		t.Fatalf("no value for a %s", field.Type())
	default:
		t.Fatalf("no value for a %s", field.Type())
	}
}

// Configurations made from the same files are the same, and whatever else may be set in
// one makes another.
func TestSameTLS(t *testing.T) {
	cert, key := certs.SelfSigned(t, 1)
	one := pair(t, cert, key)
	f := func(name string, a, b *tls.Config, want bool) {
		t.Helper()
		if got := SameTLS(a, b); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	f("neither", nil, nil, true)
	f("one", one, nil, false)
	f("made again", one, pair(t, cert, key), true)
	newer, newKey := certs.SelfSigned(t, 2)
	f("another certificate", one, pair(t, newer, newKey), false)
	for i := range reflect.TypeFor[tls.Config]().NumField() {
		if sf := reflect.TypeFor[tls.Config]().Field(i); sf.IsExported() {
			changed := pair(t, cert, key)
			other(t, reflect.ValueOf(changed).Elem().Field(i))
			f(sf.Name, one, changed, false)
		}
	}
	session := tls.NewLRUClientSessionCache(1)
	a, b := pair(t, cert, key), pair(t, cert, key)
	a.ClientSessionCache, b.ClientSessionCache = session, session
	f("the same cache", a, b, true)
	a.KeyLogWriter, b.KeyLogWriter = new(bytes.Buffer), new(bytes.Buffer)
	f("equal writers", a, b, false)
}

// A configuration that is read again keeps its members, and one with another certificate
// makes new ones.
func TestReconfigureWithTLS(t *testing.T) {
	cert, key := certs.SelfSigned(t, 1)
	cfg := Config{Name: "test", Members: []Member{{Name: "a", URL: "https://a"}, {Name: "b", URL: "https://b", TLS: pair(t, cert, key)}},
		Transport: origin.TransportConfig{TLS: pair(t, cert, key)}}
	g := group(t, cfg)
	g.Drain("a")
	g.Drain("b")
	again := func(want string, change func()) {
		t.Helper()
		change()
		if err := g.Reconfigure(cfg); err != nil || states(g) != want {
			t.Errorf("%s, %v; want %s", states(g), err, want)
		}
	}
	again("dd", func() { cfg.Members[1].TLS, cfg.Transport.TLS = pair(t, cert, key), pair(t, cert, key) })
	newer, newKey := certs.SelfSigned(t, 2)
	again("du", func() { cfg.Members[1].TLS = pair(t, newer, newKey) })
	again("uu", func() { cfg.Transport.TLS = nil })
}
