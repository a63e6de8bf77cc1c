package attr

import (
	"encoding/base64"
	"errors"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/number"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// MaxText is the maximum length of a text that a value is appended to. It exceeds any
// request that DynamoDB accepts. The text of a number of a few bytes can have more than a
// hundred, so a message that is small enough to be read may be too large as text.
const MaxText = 24 << 20

// ErrTooLong is returned if a text would exceed MaxText.
var ErrTooLong = errors.New("its items and keys are together larger than DynamoDB takes")

var errDepth = errors.New("an attribute value is nested too deeply")

// AppendJSON reads one value and appends it as DynamoDB's JSON.
func AppendJSON(dst []byte, r *cbor.Reader) ([]byte, error) { return appendJSON(dst, r, maxDepth) }

func appendJSON(dst []byte, r *cbor.Reader, depth int) ([]byte, error) {
	switch {
	case depth == 0:
		return dst, errDepth
	case len(dst) > MaxText:
		return dst, ErrTooLong
	}
	switch r.Kind() {
	case cbor.Text:
		dst = wire.AppendQuoted(append(dst, `{"S":`...), r.Text())
	case cbor.Bytes:
		dst = appendBase64(append(dst, `{"B":`...), r.Bytes())
	case cbor.True, cbor.False:
		dst = strconv.AppendBool(append(dst, `{"BOOL":`...), r.Bool())
	case cbor.Null:
		r.Null()
		dst = append(dst, `{"NULL":true`...)
	case cbor.Array:
		return appendList(dst, r, depth)
	case cbor.Map:
		return appendMap(dst, r, depth)
	case cbor.Tag:
		return appendTagged(dst, r)
	case cbor.Uint, cbor.Negative, cbor.Double:
		return appendNumber(dst, r)
	default:
		r.Fail("%s where an attribute value is expected", r.Kind())
		return dst, r.Err()
	}
	return append(dst, '}'), r.Err()
}

func appendNumber(dst []byte, r *cbor.Reader) ([]byte, error) {
	dst, err := number.AppendText(append(dst, `{"N":"`...), r)
	return append(dst, `"}`...), err
}

func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

func appendList(dst []byte, r *cbor.Reader, depth int) (_ []byte, err error) {
	dst = append(dst, `{"L":[`...)
	n, first := r.Array(), true
	for r.More(&n) {
		dst = comma(dst, &first)
		if dst, err = appendJSON(dst, r, depth-1); err != nil {
			return dst, err
		}
	}
	return append(dst, `]}`...), r.Err()
}

func appendMap(dst []byte, r *cbor.Reader, depth int) (_ []byte, err error) {
	dst = append(dst, `{"M":{`...)
	n, first := r.Map(), true
	for r.More(&n) {
		dst = append(wire.AppendQuoted(comma(dst, &first), r.Text()), ':')
		if dst, err = appendJSON(dst, r, depth-1); err != nil {
			return dst, err
		}
	}
	return append(dst, `}}`...), r.Err()
}

func comma(dst []byte, first *bool) []byte {
	if *first {
		*first = false
		return dst
	}
	return append(dst, ',')
}

// appendTagged reads a set or a number.
func appendTagged(dst []byte, r *cbor.Reader) ([]byte, error) {
	ahead := *r
	switch tag := ahead.Tag(); tag {
	case TagStrings:
		return appendSet(append(dst, `{"SS":[`...), r, tag)
	case TagNumbers:
		return appendSet(append(dst, `{"NS":[`...), r, tag)
	case TagBytes:
		return appendSet(append(dst, `{"BS":[`...), r, tag)
	}
	return appendNumber(dst, r)
}

func appendSet(dst []byte, r *cbor.Reader, tag uint64) (_ []byte, err error) {
	r.Tag()
	n, first := r.Array(), true
	for r.More(&n) {
		if dst, err = appendElement(comma(dst, &first), r, tag); err != nil {
			return dst, err
		}
		if len(dst) > MaxText {
			return dst, ErrTooLong
		}
	}
	return append(dst, `]}`...), r.Err()
}

// appendElement reads an element of a set with the given tag.
func appendElement(dst []byte, r *cbor.Reader, tag uint64) (_ []byte, err error) {
	switch tag {
	case TagStrings:
		dst = wire.AppendQuoted(dst, r.Text())
	case TagBytes:
		dst = appendBase64(dst, r.Bytes())
	default:
		dst, err = number.AppendText(append(dst, '"'), r)
		return append(dst, '"'), err
	}
	return dst, r.Err()
}
