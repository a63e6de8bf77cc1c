package cbor

import "math"

// Scanner finds the end of a number of items in bytes that are still coming. It
// looks at each item once, however often it is called, and keeps no more than a
// count for each level that it is in.
type Scanner struct {
	depth     int
	at        int              // where the next head begins; beyond what has come if a string ends there
	remaining [MaxDepth]uint64 // items to come on each level, or one of the marks of open ones
}

// The marks of a level whose end a Break tells.
const (
	openArray = math.MaxUint64
	openName  = math.MaxUint64 - 1 // of a map, before a name
	openValue = math.MaxUint64 - 2 // of a map, between a name and its value
)

// maxItems is more than any message has, in items or in bytes.
const maxItems = 1 << 40

var (
	errTooDeep = &Error{"items stand in each other too deeply"}
	errUnknown = &Error{"an item of a kind that DAX does not use"}
	errBreak   = &Error{"a break where no item can end"}
	errTooLong = &Error{"a length that no message has"}
)

// Begin makes the scanner look for the end of n items.
func (s *Scanner) Begin(n int) { s.depth, s.at, s.remaining[0] = 1, 0, uint64(n) }

// Scan looks on. b is everything from the first item on: what earlier calls have
// seen, and more. end is where the items end if b has them whole; else it is how many
// bytes of them there are at least, which is more than b has. An error is an *Error.
func (s *Scanner) Scan(b []byte) (end int, whole bool, err error) {
	for s.close() {
		if s.at >= len(b) {
			return s.at + 1, false, nil
		}
		h := readHead(b[s.at:])
		if h.size == 0 {
			return len(b) + 1, false, nil
		}
		if err := s.step(h); err != nil {
			return 0, false, err
		}
	}
	return s.at, s.at <= len(b), nil
}

// close leaves the levels that are over and tells whether one is left.
func (s *Scanner) close() bool {
	for s.depth > 0 && s.remaining[s.depth-1] == 0 {
		s.depth--
	}
	return s.depth > 0
}

// step passes over a head and the bytes of a string.
func (s *Scanner) step(h head) error {
	if h.arg > maxItems && (h.kind == Bytes || h.kind == Text || h.kind == Array || h.kind == Map) {
		return errTooLong
	}
	s.at += h.size
	if h.kind == Break {
		return s.closeLevel()
	}
	s.beginItem()
	switch h.kind {
	case Invalid:
		return errUnknown
	case Bytes, Text:
		s.at += int(h.arg)
	case Array:
		return s.enter(h, h.arg, openArray)
	case Map:
		return s.enter(h, 2*h.arg, openName)
	case Tag:
		return s.enter(h, 1, 1)
	}
	return nil
}

// beginItem notes that an item of the innermost level has begun.
func (s *Scanner) beginItem() {
	switch left := &s.remaining[s.depth-1]; *left {
	case openArray:
	case openName:
		*left = openValue
	case openValue:
		*left = openName
	default:
		*left--
	}
}

func (s *Scanner) enter(h head, items, mark uint64) error {
	if s.depth == MaxDepth {
		return errTooDeep
	}
	s.remaining[s.depth] = items
	if h.open {
		s.remaining[s.depth] = mark
	}
	s.depth++
	return nil
}

// closeLevel ends an open level.
func (s *Scanner) closeLevel() error {
	if left := s.remaining[s.depth-1]; left != openArray && left != openName {
		return errBreak
	}
	s.depth--
	return nil
}
