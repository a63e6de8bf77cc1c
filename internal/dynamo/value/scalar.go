package value

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// boolean reads the content of a Bool or Null. Like the service, it also accepts words for
// it.
func (d *decoder) boolean() bool {
	switch {
	case d.literal("true"):
		return true
	case d.literal("false"):
		return false
	case d.peek() != '"':
		d.typeError(kindBoolean)
		return true
	}
	value, ok := parseBool(d.str())
	if !ok {
		d.fail(serialization("Unexpected token received from parser"))
	}
	return value
}

func parseBool(word []byte) (value, ok bool) {
	switch string(bytes.ToLower(word)) {
	case "true", "1", "yes":
		return true, true
	case "false", "0", "no":
		return false, true
	}
	return false, false
}

// scalar reads the content of a String, Number or Binary.
func (d *decoder) scalar(typ Type) []byte {
	if d.peek() != '"' {
		if typ == Binary {
			d.typeError(kindBlob)
		} else {
			d.typeError(kindString)
		}
		return nil
	}
	text := d.str()
	switch {
	case d.fault != nil:
		return nil
	case typ == Number && d.strict:
		return d.number(text)
	case typ == Binary:
		return d.binary(text)
	}
	return text
}

// number returns the normalized text of a number.
func (d *decoder) number(text []byte) []byte {
	var n wire.Number
	if fault := n.Parse(text); fault != wire.NumberFine {
		d.fail(numberFault(fault, text))
		return nil
	}
	var buf [longestNumber]byte
	normal := n.Append(buf[:0])
	if bytes.Equal(normal, text) {
		return text
	}
	first := d.reserve(len(normal))
	d.arena = append(d.arena, normal...)
	return d.since(first)
}

// longestNumber is an upper bound on the normalized text of a number: a sign, "0.", 129
// zeros and 38 digits.
const longestNumber = 176

// binary returns the bytes that text encodes.
func (d *decoder) binary(text []byte) []byte {
	first := d.reserve(len(text))
	var ok bool
	if d.arena, ok = wire.AppendDecoded(d.arena, text); !ok {
		d.fail(serialization(wire.BinaryFault(text)))
		return nil
	}
	return d.since(first)
}
