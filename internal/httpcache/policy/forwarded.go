package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// ForwardedSite stands among [Options.Keyed] for what Forwarded (RFC 7239) says of the
// site, such as host= and proto=: for all of it but by whom and through whom a
// request came. It is no name that a field can have.
const ForwardedSite = "forwarded(site)"

// ForwardedOpen tells whether a line of Forwarded ends within quotes, so that what is
// appended to it would be taken for a part of them.
func ForwardedOpen(line []byte) bool {
	for {
		end, open := pairEnd(line)
		if end == len(line) {
			return open
		}
		line = line[end+1:]
	}
}

// appendSite appends a line of Forwarded as it was written, but without each for= and
// by= that names a node and nothing else. Readers differ in what they make of
// quotes, blanks and the number of elements; what one of them could take for a site
// stays.
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

// pairEnd is where the first pair of a line ends: at a comma or semicolon that is not
// quoted, or with the line. open tells whether it ends within quotes.
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

// namesNode tells whether a pair is a for= or by= with the bytes alone that the names
// and addresses of nodes are made of, so that no reader finds another pair in it.
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
