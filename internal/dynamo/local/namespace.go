package local

import (
	"errors"
	"fmt"
	"strings"
)

// Namespace selects one of several stores: an access key ID and a region. The key is empty for
// requests without a signature.
type Namespace struct{ Key, Region string }

// The maximum lengths of the parts. A directory's name is at most three times as long as the
// parts, which every file system allows.
const (
	maxKey    = 64
	maxRegion = 20
)

// Errors of namespaces.
var (
	ErrKey    = fmt.Errorf("an access key ID has up to %d letters, digits and punctuation marks, without a slash", maxKey)
	ErrRegion = fmt.Errorf("a region has up to %d letters, digits, - and _", maxRegion)
	errSlash  = errors.New("a namespace is KEY/REGION, or /REGION for requests without a signature")
)

// ParseNamespace parses KEY/REGION.
func ParseNamespace(text string) (Namespace, error) {
	key, region, ok := strings.Cut(text, "/")
	switch n := (Namespace{key, region}); {
	case !ok:
		return Namespace{}, errSlash
	case len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Namespace{}, ErrKey
	case region == "" || len(region) > maxRegion || strings.ContainsFunc(region, func(r rune) bool { return !isRegion(r) }):
		return Namespace{}, ErrRegion
	default:
		return n, nil
	}
}

func isRegion(r rune) bool { return r == '-' || r == '_' || isPlain(r) || 'A' <= r && r <= 'Z' }

// isPlain reports whether a character of a namespace is the same in its directory's name.
func isPlain(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }

// String returns KEY/REGION.
func (n Namespace) String() string { return n.Key + "/" + n.Region }

// directory returns the name of the namespace's directory: the key and the region, joined by _.
// Lower-case letters, digits and - are kept, a capital letter is + and the small one, because
// file systems may ignore case, and any other character is = and its code. So names differ if
// their namespaces do, and contain no dots and no separators.
func (n Namespace) directory() string {
	b := appendEscaped(make([]byte, 0, 2*(len(n.Key)+len(n.Region))), n.Key)
	return string(appendEscaped(append(b, '_'), n.Region))
}

func appendEscaped(b []byte, text string) []byte {
	for _, c := range []byte(text) {
		switch {
		case c == '-' || isPlain(rune(c)):
			b = append(b, c)
		case 'A' <= c && c <= 'Z':
			b = append(b, '+', c-'A'+'a')
		default:
			b = fmt.Appendf(b, "=%02x", c)
		}
	}
	return b
}

// parseDirectory is the inverse of directory.
func parseDirectory(name string) (Namespace, bool) {
	key, region, _ := strings.Cut(name, "_")
	n, err := ParseNamespace(unescape(key) + "/" + unescape(region))
	return n, err == nil && n.directory() == name
}

// unescape is the inverse of appendEscaped. Its result for any other text is not escaped as that.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '+' && i+1 < len(text):
			i++
			c = text[i] - 'a' + 'A'
		case c == '=' && i+2 < len(text):
			if _, err := fmt.Sscanf(text[i+1:i+3], "%02x", &c); err == nil {
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
