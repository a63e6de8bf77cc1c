package http1

import "bytes"

const (
	maxHostName  = 255   // bytes, and of an address in brackets
	maxHostLabel = 63    // bytes
	maxPort      = 65535 // digits beyond it are no port
)

// ValidHost reports whether h is a host name, an IPv4 address, or an IPv6 address in
// brackets, with an optional port. A host name consists of labels of letters, digits,
// hyphens and underscores, between which there are dots; there may be one at the end.
func ValidHost(h []byte) bool {
	if len(h) > 0 && h[0] == '[' {
		end := bytes.IndexByte(h, ']')
		return end > 0 && end <= maxHostName && isIPv6(h[1:end]) && isPort(h[end+1:])
	}
	end := bytes.IndexByte(h, ':')
	if end < 0 {
		end = len(h)
	}
	return isHostName(h[:end]) && isPort(h[end:])
}

// isPort reports whether b is empty, or a colon with the digits of a port or none.
func isPort(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	port := 0
	for _, c := range b[1:] {
		if class[c]&isDigit == 0 {
			return false
		}
		if port = port*10 + int(c-'0'); port > maxPort {
			return false
		}
	}
	return b[0] == ':'
}

func isHostName(b []byte) bool {
	label := 0 // bytes of the present one
	for _, c := range b {
		if c == '.' {
			if label == 0 {
				return false
			}
			label = 0
			continue
		}
		if label++; label > maxHostLabel || class[c]&isHost == 0 {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxHostName
}

// isIPv6 reports whether b is an IPv6 address, which may have a zone. netip would need
// memory for each.
func isIPv6(b []byte) bool {
	if zone := bytes.IndexByte(b, '%'); zone >= 0 {
		if zone == len(b)-1 || !allOf(b[zone+1:], isZone) {
			return false
		}
		b = b[:zone]
	}
	groups, gap := 0, false
	if len(b) > 1 && b[0] == ':' && b[1] == ':' {
		if b, gap = b[2:], true; len(b) == 0 {
			return true
		}
	}
	for {
		n := 0
		for n < len(b) && class[b[n]]&isHex != 0 {
			n++
		}
		if n < len(b) && b[n] == '.' {
			return isIPv4(b) && complete(groups+2, gap)
		}
		groups++
		switch {
		case n == 0 || n > 4 || groups > 8:
			return false
		case n == len(b):
			return complete(groups, gap)
		case b[n] != ':':
			return false
		}
		if b = b[n+1:]; len(b) > 0 && b[0] == ':' {
			if gap {
				return false
			}
			if b, gap = b[1:], true; len(b) == 0 {
				return complete(groups, gap)
			}
		}
	}
}

// complete reports whether an IPv6 address has the right number of 16-bit groups, with a gap
// that replaces at least one.
func complete(groups int, gap bool) bool { return groups == 8 || gap && groups < 8 }

func isIPv4(b []byte) bool {
	for part := 1; ; part++ {
		n, value := 0, 0
		for ; n < len(b) && class[b[n]]&isDigit != 0; n++ {
			if value = value*10 + int(b[n]-'0'); value > 255 || n > 0 && b[0] == '0' {
				return false
			}
		}
		switch {
		case n == 0:
			return false
		case n == len(b):
			return part == 4
		case part == 4 || b[n] != '.':
			return false
		}
		b = b[n+1:]
	}
}
