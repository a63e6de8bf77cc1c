package edge

import (
	"bytes"
	"encoding/base64"
)

// principalSize is how long a principal's name may be without needing memory, and
// maxPrincipal how much of one is recorded.
const (
	principalSize = 32
	maxPrincipal  = 256
)

// SetPrincipal records the name of the request's sender, which may be in memory that
// the caller uses again.
func (x *Exchange) SetPrincipal(name []byte) {
	x.Record.Principal = append(x.principal[:0], name[:min(len(name), maxPrincipal)]...)
}

// RecordUser records the user of the request's Authorization, if that has the scheme
// Basic.
func (x *Exchange) RecordUser() {
	scheme, credentials, ok := bytes.Cut(x.Request.Get("Authorization"), []byte{' '})
	if ok && bytes.EqualFold(scheme, []byte("Basic")) {
		x.setUser(base64.StdEncoding, bytes.TrimSpace(credentials))
	}
}

// RecordSession records the user of a session of CouchDB's, whose cookie begins with the
// user's name in base64.
func (x *Exchange) RecordSession(cookie []byte) { x.setUser(base64.RawURLEncoding, cookie) }

// setUser records what stands before the first colon of a text in base64. No more of the
// text is decoded than a name can be long.
func (x *Exchange) setUser(encoding *base64.Encoding, text []byte) {
	const most = (maxPrincipal + 2) / 3 * 4
	var buf [most / 4 * 3]byte
	if len(text) > most {
		text = text[:most]
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	n, err := encoding.Decode(buf[:], text)
	if user, _, ok := bytes.Cut(buf[:n], []byte{':'}); err == nil && ok {
		x.SetPrincipal(user)
	}
}
