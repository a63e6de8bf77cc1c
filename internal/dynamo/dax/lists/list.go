package lists

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
)

// Empty is the number of the list without names, which clients use without a request.
const Empty = 1

// idBits is the length of a number: as many bits as a double can represent, because
// JavaScript clients store numbers as doubles. The probability of a collision among a
// hundred thousand lists is one in a million.
const idBits = 52

// list is a list of names and its number.
type list struct {
	id    uint64
	names []string
	owner string // the access key that it is charged to
}

func newList(id uint64, names [][]byte, owner string) *list {
	l := &list{id: id, names: make([]string, len(names)), owner: owner}
	for i, n := range names {
		l.names[i] = string(n)
	}
	return l
}

// bytes returns the approximate length of the list in the file.
func (l *list) bytes() int64 {
	n := len(l.names)
	for _, name := range l.names {
		n += len(name)
	}
	return int64(n)
}

// hasNames reports whether l consists of names.
func (l *list) hasNames(names [][]byte) bool {
	return slices.EqualFunc(names, l.names, func(n []byte, name string) bool { return string(n) == name })
}

// idOf returns the number of the list with the given encoding. 0 and Empty are never used.
func idOf(encoded []byte) uint64 {
	sum := sha256.Sum256(encoded)
	id := binary.BigEndian.Uint64(sum[:]) >> (64 - idBits)
	if id <= Empty {
		id += Empty + 1
	}
	return id
}

// appendNames appends names in the format of the file and of the hash.
func appendNames(dst []byte, names [][]byte) []byte {
	for _, n := range names {
		dst = append(binary.AppendUvarint(dst, uint64(len(n))), n...)
	}
	return dst
}

// appendBody appends a record's body: the owner and the names.
func appendBody(dst []byte, owner string, encoded []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(owner))), owner...)
	return append(dst, encoded...)
}

var errNames = errors.New("a record's names can't be read")

// decode decodes a record's body. In version 1 of the file it has no owner.
func decode(b []byte, owned bool) (*list, error) {
	owner := ""
	if owned {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errNames
		}
		owner, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	l := &list{id: idOf(b), owner: owner}
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errNames
		}
		b = b[size:]
		l.names = append(l.names, string(b[:n]))
		b = b[n:]
	}
	return l, nil
}
