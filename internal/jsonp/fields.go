package jsonp

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/ascii"
)

// lines returns the header lines of every wrapped answer.
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

// AppendLines appends the header lines of the wrapped answer that replace the fields that
// Drops reports, except ETag.
func (c *Call) AppendLines(dst []byte) []byte {
	dst = append(dst, c.filter.lines...)
	if c.status != 0 {
		dst = append(dst, "X-Status: "...)
		dst = append(strconv.AppendInt(dst, int64(c.status), 10), "\r\n"...)
	}
	return dst
}

// dropped are fields about the bytes of the stored body, and fields that would be sent
// twice; in lower case.
var dropped = []string{
	"content-length", "content-encoding", "content-range", "accept-ranges", "etag", "last-modified",
	"content-md5", "digest", "content-digest", "repr-digest", "signature", "signature-input", "x-amz-crc32",
}

// Drops reports whether a wrapped answer lacks a field of the plain one. Set-Cookie is
// dropped because any page can cause the request.
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
