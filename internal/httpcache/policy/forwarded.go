package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// ForwardedSite represents in [Options.Keyed] the elements of Forwarded (RFC 7239) about the
// site, such as host= and proto=: all of it except the nodes in by= and for=. It can't be
// the name of a field.
const ForwardedSite = "forwarded(site)"

// ForwardedOpen reports whether a line of Forwarded ends within quotes, so that text
// appended to it would be part of them.
func ForwardedOpen(line []byte) bool {
	for {
		end, open := pairEnd(line)
		if end == len(line) {
			return open
		}
		line = line[end+1:]
	}
}

// appendSite appends a line of Forwarded unchanged, except for each for= and by= that names
// only a node. Parsers differ in their treatment of quotes, blanks and the number of
// elements; anything that one of them could take for a site is kept.
func appendSite(dst, line []byte) []byte {
	for {
		end, _ := pairEnd(line)
		if !namesNode(line[:end]) {
			dst = append(dst, line[:end]...)
		}
		if end == len(line) {
			return dst
		}
		dst = append(dst, line[end])
		line = line[end+1:]
	}
}

// pairEnd returns the end of the first pair of a line: an unquoted comma or semicolon, or
// the end of the line. open reports whether it ends within quotes.
func pairEnd(line []byte) (end int, open bool) {
	for end < len(line) {
		switch c := line[end]; {
		case c == '\\' && open:
			end++
		case c == '"':
			open = !open
		case (c == ',' || c == ';') && !open:
			return end, false
		}
		end++
	}
	return len(line), open
}

// namesNode reports whether a pair is a for= or by= that consists only of bytes allowed in
// the names and addresses of nodes, so that no parser finds another pair in it.
func namesNode(pair []byte) bool {
	name, node, _ := bytes.Cut(ascii.Trim(pair), []byte{'='})
	if !ascii.EqualFold(name, "for") && !ascii.EqualFold(name, "by") {
		return false
	}
	if n := len(node); n >= 2 && node[0] == '"' && node[n-1] == '"' {
		node = node[1 : n-1]
	}
	for _, c := range node {
		if c = ascii.Lower(c); (c < 'a' || c > 'z') && (c < '0' || c > '9') && bytes.IndexByte([]byte(".:_-[]"), c) < 0 {
			return false
		}
	}
	return len(node) > 0
}
