package accel

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
)

// keyText returns a cache key in readable form: the table, and the item's key as an object
// or the parameters of a query.
func (t *table) keyText(key []byte) string {
	body := key[prefixLen:]
	if key[0] == keyItem {
		if object, ok := t.keyObject(body); ok {
			return t.name + " " + object
		}
		return fmt.Sprintf("%s %q", t.name, body)
	}
	parts := []string{t.name}
	for len(body) > 0 {
		if len(body) < 5 || uint64(binary.BigEndian.Uint32(body[1:])) > uint64(len(body)-5) {
			return fmt.Sprintf("%s %q", t.name, key[prefixLen:])
		}
		n := 5 + int(binary.BigEndian.Uint32(body[1:]))
		part := strings.TrimSpace(string(body[5:n]))
		if strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == '\ufffd' }) {
			part = fmt.Sprintf("%q", part)
		}
		parts, body = append(parts, part), body[n:]
	}
	return strings.Join(parts, " ")
}

// keyObject returns a canonical key as the Key object of a request.
func (t *table) keyObject(canonical []byte) (string, bool) {
	var b strings.Builder
	b.WriteByte('{')
	for i, a := range []attribute{t.hash, t.rng} {
		if a.name == "" {
			continue
		}
		if len(canonical) < 3 || len(canonical) < 3+int(binary.BigEndian.Uint16(canonical[1:])) {
			return "", false
		}
		n := 3 + int(binary.BigEndian.Uint16(canonical[1:]))
		value := string(canonical[3:n])
		if canonical[0] == 'B' {
			value = base64.StdEncoding.EncodeToString(canonical[3:n])
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `%s:{"%c":%s}`, quotedText(a.name), canonical[0], quotedText(value))
		canonical = canonical[n:]
	}
	b.WriteByte('}')
	return b.String(), len(canonical) == 0
}

func quotedText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can always be marshalled
	}
	return strings.TrimSuffix(b.String(), "\n")
}
