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

// tlsConfig makes a TLS configuration as if from files.
func tlsConfig(t *testing.T, cert, key []byte) *tls.Config {
	t.Helper()
	c, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{c}, ServerName: "a", NextProtos: []string{"http/1.1"}}
}

// setOther sets a field to a value that it does not have in a result of tlsConfig.
func setOther(t *testing.T, field reflect.Value) {
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

// TestSameTLS checks that configurations made from the same files are the same, and that a
// difference in any other field makes them different.
func TestSameTLS(t *testing.T) {
	cert, key := certs.SelfSigned(t, 1)
	one := tlsConfig(t, cert, key)
	f := func(name string, a, b *tls.Config, want bool) {
		t.Helper()
		if got := SameTLS(a, b); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	f("neither", nil, nil, true)
	f("one", one, nil, false)
	f("made again", one, tlsConfig(t, cert, key), true)
	newer, newKey := certs.SelfSigned(t, 2)
	f("another certificate", one, tlsConfig(t, newer, newKey), false)
	for i := range reflect.TypeFor[tls.Config]().NumField() {
		if sf := reflect.TypeFor[tls.Config]().Field(i); sf.IsExported() {
			changed := tlsConfig(t, cert, key)
			setOther(t, reflect.ValueOf(changed).Elem().Field(i))
			f(sf.Name, one, changed, false)
		}
	}
	session := tls.NewLRUClientSessionCache(1)
	a, b := tlsConfig(t, cert, key), tlsConfig(t, cert, key)
	a.ClientSessionCache, b.ClientSessionCache = session, session
	f("the same cache", a, b, true)
	a.KeyLogWriter, b.KeyLogWriter = new(bytes.Buffer), new(bytes.Buffer)
	f("equal writers", a, b, false)
}

// TestReconfigureWithTLS checks that members are kept when the same configuration is read
// again, and replaced when their certificate differs.
func TestReconfigureWithTLS(t *testing.T) {
	cert, key := certs.SelfSigned(t, 1)
	cfg := Config{Name: "test", Members: []Member{{Name: "a", URL: "https://a"}, {Name: "b", URL: "https://b", TLS: tlsConfig(t, cert, key)}},
		Transport: origin.TransportConfig{TLS: tlsConfig(t, cert, key)}}
	g := group(t, cfg)
	g.Drain("a")
	g.Drain("b")
	again := func(want string, change func()) {
		t.Helper()
		change()
		if err := g.Reconfigure(cfg); err != nil || states(g) != want {
			t.Errorf("got states %s, error %v; want %s", states(g), err, want)
		}
	}
	again("dd", func() { cfg.Members[1].TLS, cfg.Transport.TLS = tlsConfig(t, cert, key), tlsConfig(t, cert, key) })
	newer, newKey := certs.SelfSigned(t, 2)
	again("du", func() { cfg.Members[1].TLS = tlsConfig(t, newer, newKey) })
	again("uu", func() { cfg.Transport.TLS = nil })
}
