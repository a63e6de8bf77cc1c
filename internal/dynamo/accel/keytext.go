package accel

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ParseKey parses a key as people write it: an object of attribute values, or NAME=VALUE and
// NAME:TYPE=VALUE for texts and other types, with a comma between two attributes.
func ParseKey(text string) (map[string]json.RawMessage, error) {
	key := map[string]json.RawMessage{}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if err := json.Unmarshal([]byte(text), &key); err != nil {
			return nil, fmt.Errorf("the key is not JSON: %w", err)
		}
		return key, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("the key is neither an object such as {\"id\":{\"S\":\"7\"}} nor like id=7: %s", text)
		}
		typ := "S"
		if i := strings.LastIndexByte(name, ':'); i > 0 {
			name, typ = name[:i], name[i+1:]
		}
		key[name] = fmt.Appendf(nil, "{%s:%s}", quotedText(typ), quotedText(value))
	}
	return key, nil
}
