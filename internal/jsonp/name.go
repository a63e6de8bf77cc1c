package jsonp

import "slices"

// Mode is a set of valid callback names.
type Mode uint8

const (
	// Dotted accepts names of Strict joined by dots, with indices, up to MaxName bytes, for
	// example angular.callbacks._0 and CKEDITOR._.jsonpCallbacks[197].
	Dotted Mode = iota
	// Strict accepts one identifier of ASCII letters, digits, _ and $, up to 128 bytes.
	Strict
	// Legacy accepts the names of ngx_http_jsonp_callback: ASCII letters, digits and _, also
	// as the first character, up to MaxName bytes.
	Legacy
)

// String returns the name in the configuration.
func (m Mode) String() string {
	switch m {
	case Dotted:
		return "dotted"
	case Strict:
		return "strict"
	case Legacy:
		return "legacy"
	}
	return "unknown"
}

const (
	// MaxName is the longest name of any mode, in bytes.
	MaxName = 255

	maxStrictName = 128
)

// Valid reports whether name is a valid callback. Reserved words of the language are not
// identifiers, except in Legacy.
func (m Mode) Valid(name []byte) bool {
	switch m {
	case Strict:
		return len(name) > 0 && len(name) <= maxStrictName && identifier(name) == len(name) && !reserved(name)
	case Dotted:
		return len(name) <= MaxName && dotted(name)
	case Legacy:
		return len(name) > 0 && len(name) <= MaxName && plain(name)
	}
	return false
}

// dotted reports whether name has the form ident[1][2].ident and so on.
func dotted(name []byte) bool {
	for {
		n := identifier(name)
		if n == 0 || reserved(name[:n]) {
			return false
		}
		name = name[n:]
		for len(name) > 0 && name[0] == '[' {
			if n = index(name); n == 0 {
				return false
			}
			name = name[n:]
		}
		if len(name) == 0 {
			return true
		}
		if name[0] != '.' {
			return false
		}
		name = name[1:]
	}
}

// index returns the length of the "[123]" at the start of b, 0 if there is none.
func index(b []byte) int {
	i := 1
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	if i == 1 || i == len(b) || b[i] != ']' {
		return 0
	}
	return i + 1
}

// identifier returns the length of the identifier at the start of b, 0 if there is none.
func identifier(b []byte) int {
	for i, c := range b {
		if !isWord(c) && c != '$' || i == 0 && isDigit(c) {
			return i
		}
	}
	return len(b)
}

func plain(name []byte) bool {
	for _, c := range name {
		if !isWord(c) {
			return false
		}
	}
	return true
}

// completions has, for every beginning of a name, a text that completes it.
var completions = []string{"", "a", "]", "0]"}

// validPrefix reports whether some valid name begins with text.
func (m Mode) validPrefix(text string) bool {
	return slices.ContainsFunc(completions, func(rest string) bool { return m.Valid([]byte(text + rest)) })
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// reserved reports whether a word can't be an identifier (ECMA-262, section 12.7.2, with the
// words reserved in strict mode and in modules).
func reserved(word []byte) bool {
	switch string(word) {
	case "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do",
		"else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import",
		"in", "instanceof", "interface", "let", "new", "null", "package", "private", "protected", "public", "return",
		"static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield":
		return true
	}
	return false
}
