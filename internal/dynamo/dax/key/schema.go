package key

import "github.com/kasoku/kasoku/internal/dynamo/dax/cbor"

// Attribute is a key attribute: its name and its type, 'S', 'N' or 'B'.
type Attribute struct {
	Name string
	Type byte
}

// Schema is the primary key of a table. Range has no name if there is no sort key.
type Schema struct{ Hash, Range Attribute }

// Has reports whether an attribute belongs to the key.
func (s *Schema) Has(name []byte) bool {
	return string(name) == s.Hash.Name || s.HasSortKey() && string(name) == s.Range.Name
}

// HasSortKey reports whether there is a sort key.
func (s *Schema) HasSortKey() bool { return s.Range.Name != "" }

// String returns the names and types, for example "pk S, sk N".
func (s *Schema) String() string {
	text := s.Hash.Name + " " + string(s.Hash.Type)
	if s.HasSortKey() {
		text += ", " + s.Range.Name + " " + string(s.Range.Type)
	}
	return text
}

// AppendReply appends the schema in the format of a reply: a map of names to types, the
// partition key first.
func (s *Schema) AppendReply(dst []byte) []byte {
	attributes := [...]Attribute{s.Hash, s.Range}
	n := 1
	if s.HasSortKey() {
		n = 2
	}
	dst = cbor.AppendMap(dst, n)
	for _, a := range attributes[:n] {
		dst = cbor.AppendText(dst, a.Name)
		dst = append(cbor.AppendTextHead(dst, 1), a.Type)
	}
	return dst
}
