package balance

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"reflect"
	"slices"
)

// sameTLS says whether two configurations say the same, as two do that were made from
// the same files. Functions can't be compared: whoever sets one must give the same
// configuration again for its members to stay.
func sameTLS(a, b *tls.Config) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		if va.Type().Field(i).IsExported() && !sameSetting(va.Field(i), vb.Field(i)) {
			return false
		}
	}
	return true
}

func sameSetting(a, b reflect.Value) bool {
	switch x := a.Interface().(type) {
	case *x509.CertPool:
		return x.Equal(b.Interface().(*x509.CertPool))
	case []tls.Certificate:
		return slices.EqualFunc(x, b.Interface().([]tls.Certificate), sameCertificate)
	}
	if a.Kind() == reflect.Interface { // what is behind one may be in use
		return a.Comparable() && b.Comparable() && a.Equal(b)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// sameCertificate leaves the key aside: there is one for a certificate.
func sameCertificate(a, b tls.Certificate) bool {
	return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal)
}
