package edge

import (
	"bytes"
	"encoding/base64"
)

// principalSize is the maximum length of a principal's name that needs no allocation, and
// maxPrincipal how much of a name is recorded.
const (
	principalSize = 32
	maxPrincipal  = 256
)

// SetPrincipal records the name of the request's sender. The caller may reuse its memory.
func (x *Exchange) SetPrincipal(name []byte) {
	x.Record.Principal = append(x.principal[:0], name[:min(len(name), maxPrincipal)]...)
}

// RecordUser records the user of the request's Authorization, if that has the scheme Basic.
func (x *Exchange) RecordUser() {
	scheme, credentials, ok := bytes.Cut(x.Request.Get("Authorization"), []byte{' '})
	if ok && bytes.EqualFold(scheme, []byte("Basic")) {
		x.setUser(base64.StdEncoding, bytes.TrimSpace(credentials))
	}
}

// RecordSession records the user of a CouchDB session, whose cookie begins with the user's
// name in base64.
func (x *Exchange) RecordSession(cookie []byte) { x.setUser(base64.RawURLEncoding, cookie) }

// setUser records the text before the first colon of a base64 text. No more of it is decoded
// than a name can be long.
func (x *Exchange) setUser(encoding *base64.Encoding, text []byte) {
	const limit = (maxPrincipal + 2) / 3 * 4
	var buf [limit / 4 * 3]byte
	if len(text) > limit {
		text = text[:limit]
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	n, err := encoding.Decode(buf[:], text)
	if user, _, ok := bytes.Cut(buf[:n], []byte{':'}); err == nil && ok {
		x.SetPrincipal(user)
	}
}
