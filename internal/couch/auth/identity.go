package auth

import (
	"bytes"
	"crypto/sha256"

	"github.com/kasoku/kasoku/internal/http1"
)

// Identity is a hash of a request's credentials. Requests with the same identity have the
// same credentials.
type Identity struct {
	sum       [16]byte
	Anonymous bool // there are no credentials
}

// maxCredentials is the size of credentials that need no allocation.
const maxCredentials = 1024

// Identify returns the identity of a request. It depends on Authorization, on cookies named
// AuthSession, and on the fields with which a proxy in front names the user.
func Identify(header http1.Fields) Identity {
	var buf [maxCredentials]byte
	text := buf[:0]
	for i := range header {
		f := &header[i]
		switch {
		case f.Is("Authorization"):
			text = appendCredential(text, 'A', f.Value)
		case f.Is("Cookie"):
			text = appendSessions(text, f.Value)
		case f.Is("X-Auth-CouchDB-UserName"):
			text = appendCredential(text, 'U', f.Value)
		case f.Is("X-Auth-CouchDB-Roles"):
			text = appendCredential(text, 'R', f.Value)
		case f.Is("X-Auth-CouchDB-Token"):
			text = appendCredential(text, 'T', f.Value)
		}
	}
	if len(text) == 0 {
		return Identity{Anonymous: true}
	}
	sum := sha256.Sum256(text)
	return Identity{sum: [16]byte(sum[:16])}
}

// appendCredential appends a credential. Different lists of credentials have different
// results.
func appendCredential(dst []byte, kind byte, value []byte) []byte {
	n := len(value)
	dst = append(dst, kind, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(dst, value...)
}

// appendSessions appends all sessions in a Cookie that a node may use. CouchDB accepts
// commas as separators too.
func appendSessions(dst, cookie []byte) []byte {
	for {
		var value []byte
		if value, cookie = session(cookie); value == nil {
			return dst
		}
		dst = appendCredential(dst, 'S', value)
	}
}

// Session returns the first session in a Cookie, or nil if there is none.
func Session(cookie []byte) []byte {
	value, _ := session(cookie)
	return value
}

// session returns the first session in a Cookie, and the rest.
func session(cookie []byte) (value, rest []byte) {
	for len(cookie) > 0 {
		pair := cookie
		if end := bytes.IndexAny(cookie, ";,"); end >= 0 {
			pair, cookie = cookie[:end], cookie[end+1:]
		} else {
			cookie = nil
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(pair), []byte{'='})
		if string(bytes.TrimSpace(name)) == "AuthSession" {
			return value[:len(value):len(value)], cookie
		}
	}
	return nil, nil
}
