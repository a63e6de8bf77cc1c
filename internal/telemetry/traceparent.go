package telemetry

import "bytes"

// TraceID returns the trace id of a traceparent field (W3C Trace Context, section 3.2): 32 lower-case
// hexadecimal digits, a part of field; nil if the field is invalid.
func TraceID(field []byte) []byte {
	const version, id, parent, length = 3, 35, 52, 55 // where these parts end
	switch {
	case len(field) < length, len(field) > length && (field[length] != '-' || field[0] == '0' && field[1] == '0'):
		return nil
	case field[2] != '-' || field[id] != '-' || field[parent] != '-' || string(field[:2]) == "ff":
		return nil
	case !isHex(field[:2]) || !isHex(field[version:id]) || !isHex(field[id+1:parent]) || !isHex(field[parent+1:length]):
		return nil
	case isZero(field[version:id]) || isZero(field[id+1:parent]):
		return nil
	}
	return field[version:id]
}

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isZero(digits []byte) bool { return len(bytes.Trim(digits, "0")) == 0 }
