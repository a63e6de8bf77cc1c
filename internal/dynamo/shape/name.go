package shape

import "strings"

// nameClass is the regular expression that names of tables and indexes match.
const nameClass = "[a-zA-Z0-9_.-]+"

func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return s != ""
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// TableName returns the name of a table that a request gives as a name or as an ARN,
// arn:<partition>:dynamodb:<region>:<account>:table/<name>. It returns false if named is
// neither.
func TableName(named string) (name string, ok bool) {
	if !strings.HasPrefix(named, "arn:") {
		return named, isName(named)
	}
	parts := strings.SplitN(named, ":", 6)
	if len(parts) != 6 || parts[1] == "" || parts[2] != "dynamodb" || parts[3] == "" || !isDigits(parts[4]) {
		return "", false
	}
	name, ok = strings.CutPrefix(parts[5], "table/")
	return name, ok && isName(name)
}
