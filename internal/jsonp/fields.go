package jsonp

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/ascii"
)

// lines are what every wrapped answer has in its header.
func (c *Config) lines() []byte {
	var b []byte
	if c.Mode == Legacy {
		return b
	}
	kind := "application/javascript"
	if c.Type == Text {
		kind = "text/javascript"
	}
	b = append(b, "Content-Type: "+kind+"; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nAccept-Ranges: none\r\n"...)
	if c.Attachment {
		b = append(b, "Content-Disposition: attachment; filename=f.txt\r\n"...)
	}
	if c.CrossOrigin {
		b = append(b, "Cross-Origin-Resource-Policy: cross-origin\r\n"...)
	}
	if c.CDNNoStore {
		b = append(b, "CDN-Cache-Control: no-store\r\nSurrogate-Control: no-store\r\n"...)
	}
	return b
}

// AppendLines appends the header lines that the wrapped answer has in place of those that
// Drops names, but for ETag.
func (c *Call) AppendLines(dst []byte) []byte {
	dst = append(dst, c.filter.lines...)
	if c.status != 0 {
		dst = append(dst, "X-Status: "...)
		dst = append(strconv.AppendInt(dst, int64(c.status), 10), "\r\n"...)
	}
	return dst
}

// dropped are fields that tell of the stored body's bytes, or would be told twice; in
// lower case.
var dropped = []string{
	"content-length", "content-encoding", "content-range", "accept-ranges", "etag", "last-modified",
	"content-md5", "digest", "content-digest", "repr-digest", "signature", "signature-input", "x-amz-crc32",
}

// Drops tells whether a wrapped answer has not the field of this name that the plain one
// has. A cookie would be set for whichever page asks, so it goes too.
func (f *Filter) Drops(name []byte) bool {
	for _, d := range dropped {
		if ascii.EqualFold(name, d) {
			return true
		}
	}
	if f.cfg.Mode == Legacy {
		return false
	}
	return ascii.EqualFold(name, "set-cookie") || ascii.EqualFold(name, "content-type") || ascii.EqualFold(name, "x-content-type-options") ||
		f.cfg.Attachment && ascii.EqualFold(name, "content-disposition") ||
		f.cfg.CrossOrigin && ascii.EqualFold(name, "cross-origin-resource-policy") ||
		f.cfg.CDNNoStore && (ascii.EqualFold(name, "cdn-cache-control") || ascii.EqualFold(name, "surrogate-control")) ||
		f.cfg.Errors == Envelope && ascii.EqualFold(name, "x-status")
}
