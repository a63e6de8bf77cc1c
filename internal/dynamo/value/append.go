package value

import (
	"encoding/base64"
	"strconv"
	"unsafe"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Append appends the value as DynamoDB's JSON: {"S":"x"}.
func (v *Value) Append(dst []byte) []byte {
	dst = append(dst, '{', '"')
	dst = append(dst, v.Type.String()...)
	dst = append(dst, '"', ':')
	switch v.Type {
	case Bool:
		dst = strconv.AppendBool(dst, v.Bool)
	case Null:
		dst = append(dst, "true"...)
	case StringSet, NumberSet, BinarySet:
		dst = v.appendItems(dst, (*Value).appendScalar)
	case List:
		dst = v.appendItems(dst, (*Value).Append)
	case Map:
		dst = v.AppendItem(dst)
	default:
		dst = v.appendScalar(dst)
	}
	return append(dst, '}')
}

// appendItems appends the elements of a set or a List.
func (v *Value) appendItems(dst []byte, element func(v *Value, dst []byte) []byte) []byte {
	dst = append(dst, '[')
	for i := range v.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(&v.Items[i], dst)
	}
	return append(dst, ']')
}

// AppendItem appends a Map as an item: {"a":{"S":"x"}}.
func (v *Value) AppendItem(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range v.Members {
		m := &v.Members[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendQuoted(dst, unsafe.Slice(unsafe.StringData(m.Name), len(m.Name)))
		dst = append(dst, ':')
		dst = m.Value.Append(dst)
	}
	return append(dst, '}')
}

// appendScalar appends the JSON string of a String, Number or Binary.
func (v *Value) appendScalar(dst []byte) []byte {
	switch v.Type {
	case Number:
		dst = append(dst, '"')
		dst = append(dst, v.Text...)
		return append(dst, '"')
	case Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Text)
		return append(dst, '"')
	}
	return wire.AppendQuoted(dst, v.Text)
}
