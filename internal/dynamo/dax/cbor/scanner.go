package cbor

import "math"

// Scanner finds the end of a sequence of items whose bytes are still arriving. It examines
// each item once, however often Scan is called, and stores only a count per nesting level.
type Scanner struct {
	depth     int
	at        int              // offset of the next head; beyond the available bytes if a string ends there
	remaining [MaxDepth]uint64 // remaining items per level, or one of the marks for indefinite length
}

// Marks of levels of indefinite length.
const (
	openArray = math.MaxUint64
	openName  = math.MaxUint64 - 1 // of a map, before a key
	openValue = math.MaxUint64 - 2 // of a map, between a key and its value
)

// maxItems is larger than any valid message, in items or in bytes.
const maxItems = 1 << 40

var (
	errTooDeep = &Error{"items are nested too deeply"}
	errUnknown = &Error{"an item of a kind that DAX does not use"}
	errBreak   = &Error{"a break where no item can end"}
	errTooLong = &Error{"a length that no message has"}
)

// Begin makes the scanner search for the end of n items.
func (s *Scanner) Begin(n int) { s.depth, s.at, s.remaining[0] = 1, 0, uint64(n) }

// Scan continues the scan. b begins with the first item and includes all bytes of earlier
// calls. If b contains all items, end is their end. Otherwise end is the minimum total
// length of the items, which is greater than len(b). An error is an *Error.
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

// close closes the completed levels and reports whether one is left.
func (s *Scanner) close() bool {
	for s.depth > 0 && s.remaining[s.depth-1] == 0 {
		s.depth--
	}
	return s.depth > 0
}

// step skips a head and the bytes of a string.
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

// beginItem counts an item of the innermost level.
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

// closeLevel ends a level of indefinite length.
func (s *Scanner) closeLevel() error {
	if left := s.remaining[s.depth-1]; left != openArray && left != openName {
		return errBreak
	}
	s.depth--
	return nil
}
