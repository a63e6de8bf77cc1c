package memcached

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/origin"
)

// answer makes the flight's answer of a fallback's response, and decides which clients share
// it and whether it is stored in memcached. The reason is Stored if it is.
func (f *filling) answer(in *origin.Inbound, r *httpcache.Received) (*flight.Answer, policy.Reason, error) {
	now := policy.MomentOf(time.Now())
	p := policy.ParseResponse(in.Status, r.Fields, now, now, byKey)
	a := &flight.Answer{Head: f.head(in.Status, sharedResponseFields(r.Fields), r), Length: in.Length, Body: in}
	why, coding := unshared(&p), codingOf(r.Fields)
	if a.Share = why == policy.Fresh; a.Share {
		why = f.unstored(&p, r.Fields, coding)
	}
	if r.Peer || f.found { // the member that has sent it stores or remembers it, or memcached has it
		if why == policy.Fresh {
			why = policy.Stored
		}
		return a, why, nil
	}
	if why == policy.NegativeKept && f.renewal == nil { // the value exists, so the next renewal must ask the fallback again
		a.Remember = f.loc.NegativeTTL
	}
	if why != policy.Fresh {
		f.renewal.end(false)
		return a, why, nil
	}
	a.OnBody = func(b *store.Body) { f.finish(b, coding) }
	if f.loc.ETag && coding == value.Identity && isShort(r.Fields) && a.Head.Response.ETag.Kind == policy.NoTag {
		if err := f.tagged(a, in, r); err != nil {
			return nil, policy.Stored, err
		}
	}
	return a, policy.Stored, nil
}

// head returns the head of a response for all clients that share it. It varies by no field
// that is the same for all of them.
func (f *filling) head(status int, fields http1.Fields, r *httpcache.Received) *store.Head {
	p := policy.ParseResponse(status, fields, r.Asked, policy.MomentOf(time.Now()), byKey)
	p.Vary = slices.DeleteFunc(p.Vary, f.loc.keyCovers)
	return store.NewHead(p, fields, r.Request, byKey)
}

// tagged reads a short body and gives the answer the entity tag of its value.
func (f *filling) tagged(a *flight.Answer, in *origin.Inbound, r *httpcache.Received) error {
	text, err := io.ReadAll(in)
	in.Close()
	if err != nil {
		f.finish(nil, value.Identity)
		return err
	}
	t := tagOf(text)
	fields := append(slices.Clip(a.Head.Fields), http1.Field{Name: []byte("ETag"), Value: bytes.Clone(t.bytes())})
	a.Head = f.head(in.Status, fields, r)
	a.Head.Synthesized = true
	a.Body, a.Whole, a.Length = nil, store.Gather([][]byte{text}), int64(len(text))
	return nil
}

// unshared returns the reason why an answer is for its requester only; Fresh: it can be
// shared.
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

// unstored returns the reason why a shared answer is not stored in memcached; Fresh: it is
// stored.
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

// keyCovers reports whether a field that an answer varies by is the same in all requests
// that share it: it is in the key, or is not sent to the fallback.
func (l *location) keyCovers(name string) bool {
	switch name {
	case "accept-encoding":
		return true
	case "cookie", "authorization":
		return l.Public || l.keyed.has(name)
	}
	return l.keyed.has(name)
}

// sharedResponseFields returns an answer's fields for all clients: without Date, which is
// set when it is sent, and without Vary for Accept-Encoding, which was not sent to the
// fallback.
func sharedResponseFields(fields http1.Fields) http1.Fields {
	kept := make(http1.Fields, 0, len(fields))
	for _, f := range fields {
		if !f.Is("Date") && !(f.Is("Vary") && bytes.EqualFold(f.Value, []byte("Accept-Encoding"))) {
			kept = append(kept, f)
		}
	}
	return kept
}

// codingOf returns an answer's content coding, or unknownCoding if it can't be decoded.
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

// lengthOf returns an answer's length, -1 if it is unknown.
func lengthOf(fields http1.Fields) int64 {
	n, err := strconv.ParseInt(string(fields.Get("Content-Length")), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// isShort reports whether an answer is short enough to be held until it is whole, so that it
// has the validator of its value.
func isShort(fields http1.Fields) bool {
	n := lengthOf(fields)
	return n >= 0 && n <= maxHeld
}

const maxHeld = 16 << 10
