package model

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
)

// value is a parsed scalar attribute value; other types keep their JSON text.
type value struct {
	typ  string // "S", "N", "B", ...; empty: no value
	text string
	num  *big.Rat // of "N"
}

func parseValue(raw json.RawMessage) value {
	if raw == nil {
		return value{}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || len(members) != 1 {
		return value{}
	}
	for typ, inner := range members {
		var text string
		if json.Unmarshal(inner, &text) != nil {
			return value{typ: typ, text: string(compact(inner))}
		}
		v := value{typ: typ, text: text}
		if typ == "N" {
			num, ok := new(big.Rat).SetString(text)
			if !ok {
				return value{}
			}
			v.num = num
		}
		return v
	}
	return value{}
}

// compare orders values of one type as DynamoDB does, and others by type.
func (v value) compare(w value) int {
	if v.typ != w.typ {
		return strings.Compare(v.typ, w.typ)
	}
	if v.num != nil && w.num != nil {
		return v.num.Cmp(w.num)
	}
	return strings.Compare(v.text, w.text)
}

// number returns the JSON text of an attribute of type N.
func number(r *big.Rat) json.RawMessage {
	text := r.RatString()
	if !r.IsInt() {
		text = strings.TrimRight(r.FloatString(38), "0")
	}
	return json.RawMessage(`{"N":"` + text + `"}`)
}

// canonical returns text that is equal for equal key attributes.
func canonical(raw json.RawMessage) []byte {
	if v := parseValue(raw); v.num != nil {
		return number(v.num)
	}
	return compact(raw)
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
