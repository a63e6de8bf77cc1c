package attr

import (
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/number"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

var errValue = errors.New("a value is no attribute value of DynamoDB's")

// AppendCBOR appends an attribute value given as JSON. wire.Valid must have accepted json.
func AppendCBOR(dst, json []byte) ([]byte, error) { return appendCBOR(dst, json, maxDepth) }

func appendCBOR(dst, json []byte, depth int) ([]byte, error) {
	typ, v, ok := wire.Attribute(json)
	switch {
	case !ok:
		return dst, errValue
	case depth == 0:
		return dst, errDepth
	}
	switch string(typ) {
	case "S":
		return AppendString(dst, v)
	case "N":
		return AppendNumber(dst, v)
	case "B":
		return AppendBinary(dst, v)
	case "BOOL":
		return cbor.AppendBool(dst, string(v) == "true"), nil
	case "NULL":
		return cbor.AppendNull(dst), nil
	case "L":
		return appendElements(dst, v, depth-1, appendCBOR)
	case "M":
		return appendMembers(cbor.AppendMap(dst, wire.Object(v).Count()), v, depth)
	case "SS":
		return appendElements(cbor.AppendTag(dst, TagStrings), v, 0, appendString)
	case "NS":
		return appendElements(cbor.AppendTag(dst, TagNumbers), v, 0, appendDigits)
	case "BS":
		return appendElements(cbor.AppendTag(dst, TagBytes), v, 0, appendBinary)
	}
	return dst, errValue
}

// AppendString appends a JSON string as text.
func AppendString(dst, quoted []byte) ([]byte, error) {
	if plain, ok := wire.Plain(quoted); ok {
		return cbor.AppendText(dst, plain), nil
	}
	start := len(dst)
	dst, ok := wire.AppendString(dst, quoted)
	if !ok {
		return dst, errValue
	}
	return cbor.WrapText(dst, start), nil
}

// AppendBinary appends a JSON string of base64 as a byte string.
func AppendBinary(dst, quoted []byte) ([]byte, error) {
	start := len(dst)
	dst, ok := wire.AppendBinary(dst, quoted)
	if !ok {
		return dst, errValue
	}
	return cbor.WrapBytes(dst, start), nil
}

// AppendNumber appends a JSON string with the text of a number as a number.
func AppendNumber(dst, quoted []byte) ([]byte, error) {
	if text, ok := wire.Plain(quoted); ok {
		return number.AppendCBOR(dst, text)
	}
	// Some digits are written as escapes. Their text is decoded to the place of the number,
	// which is read completely before it is overwritten.
	start := len(dst)
	dst, ok := wire.AppendString(dst, quoted)
	if !ok {
		return dst, errValue
	}
	return number.AppendCBOR(dst[:start], dst[start:])
}

// appendElements appends a JSON array. The number of elements precedes them.
func appendElements(dst, json []byte, depth int, element func(dst, v []byte, depth int) ([]byte, error)) (_ []byte, err error) {
	dst = cbor.AppendArray(dst, wire.Array(json).Count())
	for it := wire.Array(json); it.Next(); {
		if dst, err = element(dst, it.Value(), depth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendString, appendDigits and appendBinary append an element of a set, which has no depth.
func appendString(dst, v []byte, _ int) ([]byte, error) { return AppendString(dst, v) }
func appendDigits(dst, v []byte, _ int) ([]byte, error) { return AppendNumber(dst, v) }
func appendBinary(dst, v []byte, _ int) ([]byte, error) { return AppendBinary(dst, v) }

// AppendMembers appends the names and values of a JSON object's members.
func AppendMembers(dst, json []byte) ([]byte, error) { return appendMembers(dst, json, maxDepth+1) }

func appendMembers(dst, json []byte, depth int) (_ []byte, err error) {
	for it := wire.Object(json); it.Next(); {
		if dst, err = AppendString(dst, it.QuotedName()); err != nil {
			return dst, err
		}
		if dst, err = appendCBOR(dst, it.Value(), depth-1); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
