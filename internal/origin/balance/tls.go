package balance

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"reflect"
	"slices"
)

// SameTLS reports whether two configurations have the same content, as two made from the
// same files do. Functions can't be compared: a caller that sets one must pass the same
// configuration again for its members to be kept.
func SameTLS(a, b *tls.Config) bool {
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
	if a.Kind() == reflect.Interface { // the value behind an interface may be in use
		return a.Comparable() && b.Comparable() && a.Equal(b)
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// sameCertificate ignores the private key, which follows from the certificate.
func sameCertificate(a, b tls.Certificate) bool {
	return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal)
}
