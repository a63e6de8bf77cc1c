package telemetry

import (
	"bytes"
	"encoding/hex"
)

// Where the parts of a traceparent field end.
const (
	versionEnd        = 2
	idEnd             = 35
	parentEnd         = 52
	traceparentLength = 55
)

// The flags of a traceparent field.
const (
	flagSampled = 1
	flagRandom  = 2 // the trace id is random
)

// TraceID returns the trace id of a traceparent field (W3C Trace Context, section 3.2): 32 lower-case
// hexadecimal digits, a part of field; nil if the field is invalid.
func TraceID(field []byte) []byte {
	const id, parent, length = idEnd, parentEnd, traceparentLength
	switch {
	case len(field) < length, len(field) > length && (field[length] != '-' || field[0] == '0' && field[1] == '0'):
		return nil
	case field[versionEnd] != '-' || field[id] != '-' || field[parent] != '-' || string(field[:versionEnd]) == "ff":
		return nil
	case !isHex(field[:versionEnd]) || !isHex(field[versionEnd+1:id]) || !isHex(field[id+1:parent]) || !isHex(field[parent+1:length]):
		return nil
	case isZero(field[versionEnd+1:id]) || isZero(field[id+1:parent]):
		return nil
	}
	return field[versionEnd+1 : id]
}

// IsSampled reports whether a valid traceparent field has the flag of a trace that is recorded.
func IsSampled(field []byte) bool { return traceFlags(field)&flagSampled != 0 }

// traceFlags returns the flags of a valid traceparent field.
func traceFlags(field []byte) byte {
	var flags [1]byte
	_, _ = hex.Decode(flags[:], field[parentEnd+1:traceparentLength])
	return flags[0]
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
