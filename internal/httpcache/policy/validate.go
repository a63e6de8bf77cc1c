package policy

import (
	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// conditional says whether a field makes a request depend on what its sender has.
func conditional(name []byte) bool {
	return ascii.EqualFold(name, "if-none-match") || ascii.EqualFold(name, "if-modified-since") || ascii.EqualFold(name, "if-range") || ascii.EqualFold(name, "range")
}

// Unconditional appends to dst the fields of a request that asks for the whole
// response: the client's, without the conditions and the range that it set for
// itself. The answer then is of use to others as well.
func Unconditional(dst, client http1.Fields) http1.Fields {
	for i := range client {
		if !conditional(client[i].Name) {
			dst = append(dst, client[i])
		}
	}
	return dst
}

// Validation appends to dst the fields of a request that asks the origin whether
// r is still right: the client's without its own conditions, and r's validators
// exactly as they are stored (RFC 9111, section 4.3.1). Without a validator it
// asks for the whole response.
func Validation(dst, client http1.Fields, r *Response) http1.Fields {
	dst = Unconditional(dst, client)
	if r.ETag.Kind != NoTag {
		dst = append(dst, http1.Field{Name: []byte("If-None-Match"), Value: r.ETag.Value})
	}
	if len(r.LastModified) > 0 {
		dst = append(dst, http1.Field{Name: []byte("If-Modified-Since"), Value: r.LastModified})
	}
	return dst
}

// Updates says whether a 304 speaks of the stored response r (RFC 9111, section
// 4.3.4): by an equal strong tag, or weakly by an equal weak tag or
// Last-Modified, or by having no validator at all, when it speaks of the one
// that was asked about. Of several that it speaks of weakly, only the latest
// ([Response.Better]) is to be updated. If it speaks of none, the request is to
// be sent again, without conditions.
func Updates(notModified, r *Response, asked bool) bool {
	switch n := notModified; {
	case n.ETag.Kind == StrongTag:
		return n.ETag.strongEqual(r.ETag)
	case n.ETag.Kind != NoTag:
		return n.ETag.weakEqual(r.ETag)
	case n.hasModified:
		return r.hasModified && n.modified == r.modified
	}
	return asked
}

// UpdateFields are the fields of a stored response after a 304, or a HEAD's
// answer, has spoken of it: each field that update has replaces all of its name
// (RFC 9111, section 3.2). What describes the stored body itself stays, the old
// Age goes. update is expected without connection-specific fields and with a
// Date ([EndToEnd], [Dated]). Parse the result with the times of the update.
func UpdateFields(dst, stored, update http1.Fields) http1.Fields {
	for i := range stored {
		f := stored[i]
		if ascii.EqualFold(f.Name, "age") || updating(f.Name) && has(update, f.Name) {
			continue
		}
		dst = append(dst, f)
	}
	for i := range update {
		if updating(update[i].Name) {
			dst = append(dst, update[i])
		}
	}
	return dst
}

// updating says whether a field of an update counts.
func updating(name []byte) bool {
	return !ascii.EqualFold(name, "content-length") && !ascii.EqualFold(name, "content-range") && !ascii.EqualFold(name, "content-encoding") && !HopByHop(name)
}

func has(h http1.Fields, name []byte) bool {
	for i := range h {
		if ascii.EqualFold(h[i].Name, name) {
			return true
		}
	}
	return false
}

// HeadUpdate is what the answer to a forwarded HEAD means for a stored response.
type HeadUpdate uint8

// What a HEAD's answer means (RFC 9111, section 4.3.5).
const (
	HeadSaysNothing HeadUpdate = iota
	HeadUpdates                // it is the same: UpdateFields
	HeadInvalidates            // it has changed: mark it Invalid
)

// FromHead judges the answer to a HEAD, of which length is the Content-Length or
// -1, against a stored response with a body of that length. Only a 200 says
// anything, and the same validators and length make it the same response.
func FromHead(head *Response, length int64, stored *Response, body int64) HeadUpdate {
	switch {
	case head.Status != 200 || stored.Status != 200:
		return HeadSaysNothing
	case length >= 0 && length != body, !sameTag(head.ETag, stored.ETag), !sameDate(head, stored):
		return HeadInvalidates
	}
	return HeadUpdates
}

// sameTag compares tags of a HEAD's answer and of what is stored; a HEAD without
// one says nothing about it.
func sameTag(head, stored ETag) bool {
	return head.Kind == NoTag || head.Kind == stored.Kind && string(head.Value) == string(stored.Value)
}

func sameDate(head, stored *Response) bool {
	return len(head.LastModified) == 0 || string(head.LastModified) == string(stored.LastModified)
}
