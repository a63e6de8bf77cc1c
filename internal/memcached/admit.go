package memcached

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// admit says what becomes of a fallback's answer: who has it, and where it is kept.
func (f *filling) admit(status int, fields http1.Fields) httpcache.Admission {
	now := policy.MomentOf(time.Now())
	r := policy.ParseResponse(status, fields, now, now, byKey)
	a := httpcache.Admission{Fields: sharedResponseFields(fields), Given: f.loc.keyCovers}
	if a.Why = unshared(&r); a.Why != policy.Fresh {
		f.renewal.end(false)
		return a
	}
	a.Store = true
	coding := codingOf(fields)
	a.Why = f.unstored(&r, fields, coding)
	if a.Why == policy.NegativeKept && f.renewal == nil { // the value is there; the next renewal has to ask again
		a.Remember = f.loc.NegativeTTL
	}
	if a.Why != policy.Fresh {
		f.renewal.end(false)
		return a
	}
	a.After = func(b *httpcache.Body) { f.finish(b, coding) }
	if f.loc.ETag && coding == value.Identity && isShort(fields) {
		a.Tag = tagOfBody
	}
	return a
}

// unshared is why an answer is for who asked alone; Fresh: it is for all.
func unshared(r *policy.Response) policy.Reason {
	switch {
	case r.Directives.Has(policy.NoStore):
		return policy.ResponseNoStore
	case r.Directives.Has(policy.Private):
		return policy.ResponsePrivate
	case r.SetCookie:
		return policy.SetsCookie
	case r.VaryAll:
		return policy.VaryAll
	}
	return policy.Fresh
}

// unstored is why an answer that is for all is not stored in memcached; Fresh: it is.
func (f *filling) unstored(r *policy.Response, fields http1.Fields, coding value.Coding) policy.Reason {
	switch {
	case slices.ContainsFunc(r.Vary, func(name string) bool { return !f.loc.keyCovers(name) }):
		return policy.VariesBeyondKey
	case (r.Status == 404 || r.Status == 410) && f.loc.NegativeTTL > 0:
		return policy.NegativeKept
	case r.Status != 200:
		return policy.StatusNotStored
	case f.loc.Store == nil:
		return policy.NowhereToStore
	case coding != value.Identity && coding != value.Gzip && coding != value.Zlib:
		return policy.EncodedUnknown
	case lengthOf(fields) > f.loc.Store.MaxSize:
		return policy.TooLarge
	case f.server < 0 || !f.set.client.Up(f.server):
		return policy.StoreDown
	}
	return policy.Fresh
}

// keyCovers tells whether a field that an answer varies by is the same in all requests that
// share it: it is in the key, or the fallback does not get it.
func (l *location) keyCovers(name string) bool {
	switch name {
	case "accept-encoding":
		return true
	case "cookie", "authorization":
		return l.Public || l.keyed.has(name)
	}
	return l.keyed.has(name)
}

// sharedResponseFields are an answer's fields as they go to all: Date is set when one leaves, and
// nothing was chosen by Accept-Encoding.
func sharedResponseFields(fields http1.Fields) http1.Fields {
	kept := make(http1.Fields, 0, len(fields))
	for _, f := range fields {
		if !f.Is("Date") && !(f.Is("Vary") && bytes.EqualFold(f.Value, []byte("Accept-Encoding"))) {
			kept = append(kept, f)
		}
	}
	return kept
}

// codingOf is the content coding that an answer has, and unknownCoding if that is none
// which can be taken off.
func codingOf(fields http1.Fields) value.Coding {
	coding := value.Identity
	for i := range fields {
		f := &fields[i]
		if !f.Is("Content-Encoding") {
			continue
		}
		switch v := bytes.ToLower(bytes.TrimSpace(f.Value)); {
		case string(v) == "identity":
		case coding != value.Identity:
			return unknownCoding
		case string(v) == "gzip" || string(v) == "x-gzip":
			coding = value.Gzip
		case string(v) == "deflate":
			coding = value.Zlib
		default:
			return unknownCoding
		}
	}
	return coding
}

const unknownCoding = value.Coding(255)

// lengthOf is an answer's length, -1 if it is not said.
func lengthOf(fields http1.Fields) int64 {
	n, err := strconv.ParseInt(string(fields.Get("Content-Length")), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// isShort tells whether an answer is so short that it may be held until it is whole, for
// the same validator that it has as a value.
func isShort(fields http1.Fields) bool {
	n := lengthOf(fields)
	return n >= 0 && n <= maxHeld
}

const maxHeld = 16 << 10

// tagOfBody is the entity tag of a body that is stored as it is.
func tagOfBody(b *httpcache.Body) []byte {
	text, _ := b.Bytes()
	t := tagOf(text)
	return bytes.Clone(t.bytes())
}
