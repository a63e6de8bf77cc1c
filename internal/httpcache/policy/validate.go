package policy

import (
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// conditional reports whether a field makes a request conditional.
func conditional(name []byte) bool {
	return ascii.EqualFold(name, "if-none-match") || ascii.EqualFold(name, "if-modified-since") || ascii.EqualFold(name, "if-range") || ascii.EqualFold(name, "range")
}

// Unconditional appends to dst the fields of a request for the whole response: the client's,
// without its conditions and range. The answer can then be used for other clients as well.
func Unconditional(dst, client http1.Fields) http1.Fields {
	for i := range client {
		if !conditional(client[i].Name) {
			dst = append(dst, client[i])
		}
	}
	return dst
}

// Validation appends to dst the fields of a request that validates r at the origin: the
// client's without its own conditions, and r's validators exactly as stored (RFC 9111,
// section 4.3.1). If r has no validator, it requests the whole response.
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

// Updates reports whether a 304 refers to the stored response r (RFC 9111, section 4.3.4):
// by an equal strong tag, weakly by an equal weak tag or Last-Modified, or by having no
// validator at all if r is the response that was validated (asked). If it refers weakly to
// several, only the latest ([Response.Better]) is to be updated. If it refers to none, the
// request is to be sent again without conditions.
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

// UpdateFields appends the fields of a stored response after a 304, or after the answer to a
// HEAD: each field in update replaces all stored fields of its name (RFC 9111, section 3.2),
// except fields that describe the stored body; the old Age is removed. update must be without
// connection-specific fields and with a Date ([EndToEnd], [Dated]). Parse the result with
// the times of the update.
func UpdateFields(dst, stored, update http1.Fields) http1.Fields {
	for i := range stored {
		f := stored[i]
		if ascii.EqualFold(f.Name, "age") || updating(f.Name) && slices.ContainsFunc(update, func(u http1.Field) bool { return ascii.EqualFold(u.Name, f.Name) }) {
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

// updating reports whether a field of an update is applied.
func updating(name []byte) bool {
	return !ascii.EqualFold(name, "content-length") && !ascii.EqualFold(name, "content-range") && !ascii.EqualFold(name, "content-encoding") && !HopByHop(name)
}

// HeadUpdate is the effect of a forwarded HEAD on a stored response.
type HeadUpdate uint8

// The effects of a HEAD (RFC 9111, section 4.3.5).
const (
	HeadIgnored     HeadUpdate = iota
	HeadUpdates                // it is unchanged: UpdateFields
	HeadInvalidates            // it has changed: mark it Invalid
)

// FromHead compares the answer to a HEAD, with a Content-Length of length or -1, with a
// stored response with a body of that length. Only a 200 has an effect; with the same
// validators and length it is the same response.
func FromHead(head *Response, length int64, stored *Response, body int64) HeadUpdate {
	switch {
	case head.Status != 200 || stored.Status != 200:
		return HeadIgnored
	case length >= 0 && length != body, !sameTag(head.ETag, stored.ETag), !sameDate(head, stored):
		return HeadInvalidates
	}
	return HeadUpdates
}

// sameTag compares the tags of a HEAD's answer and of the stored response; a HEAD without a
// tag matches any.
func sameTag(head, stored ETag) bool {
	return head.Kind == NoTag || head.Kind == stored.Kind && string(head.Value) == string(stored.Value)
}

func sameDate(head, stored *Response) bool {
	return len(head.LastModified) == 0 || string(head.LastModified) == string(stored.LastModified)
}
