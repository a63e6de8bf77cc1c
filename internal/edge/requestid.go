package edge

// maxID is the length of the longest request id that is taken over from a client.
const maxID = 128

// validID reports whether a client's request id can be taken over: visible ASCII of a bounded
// length, which a log line can contain unchanged.
func validID(id []byte) bool {
	if len(id) == 0 || len(id) > maxID {
		return false
	}
	for _, c := range id {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
