package catalog

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// invalid returns the error for parameters that contradict each other.
func invalid(format string, args ...any) *wire.Error {
	return wire.Invalid("One or more parameter values were invalid: "+format, args...)
}

// limitExceeded returns the error for exceeding a limit of the account.
func limitExceeded(message string) *wire.Error {
	return &wire.Error{Type: "LimitExceededException", Message: "Subscriber limit exceeded: " + message}
}

// members returns the values of the members of obj called names, nil for one that is missing
// or null. The types of the members must have been checked. It returns an error for a body
// that has a member twice.
func members(obj []byte, names ...string) ([][]byte, error) {
	out := make([][]byte, len(names))
	if !wire.Collect(obj, names, out) {
		return nil, &wire.Error{Type: "SerializationException"}
	}
	return out, nil
}

// text reads a string; empty for none.
func text(v []byte) string {
	if v == nil {
		return ""
	}
	out, _ := wire.AppendString(nil, v)
	return string(out)
}

// flag reads a boolean, which the API also accepts as a string; false for none.
func flag(v []byte) bool {
	switch strings.ToLower(strings.Trim(string(v), `"`)) {
	case "true", "1", "yes":
		return true
	}
	return false
}

// whole reads a number; 0 for none.
func whole(v []byte) int64 {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(string(v), 64)
	return int64(max(math.MinInt64, min(f, math.MaxInt64/2)))
}

func elements(v []byte) [][]byte {
	var out [][]byte
	for it := wire.Array(v); it.Next(); {
		out = append(out, it.Value())
	}
	return out
}

func texts(v []byte) []string {
	var out []string
	for _, e := range elements(v) {
		out = append(out, text(e))
	}
	return out
}

// attributeJSON is the persisted form of an Attribute.
type attributeJSON struct{ Name, Type string }

// MarshalJSON writes the type as the API does.
func (a Attribute) MarshalJSON() ([]byte, error) {
	return json.Marshal(attributeJSON{a.Name, a.Type.String()})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (a *Attribute) UnmarshalJSON(text []byte) error {
	var form attributeJSON
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	*a = Attribute{Name: form.Name, Type: keyType(form.Type)}
	return nil
}

// keyType returns the type of key attributes with that name in the API.
func keyType(name string) value.Type {
	switch name {
	case "N":
		return value.Number
	case "B":
		return value.Binary
	}
	return value.String
}
