package dataset

import (
	"bytes"
	"fmt"
	"strconv"
)

// Sizes of the bodies of objects for comparing HTTP caches.
const (
	SmallObject = 1500
	LargeObject = 196 << 10
)

const objectPath = "/object/"

// AppendObjectRequest appends a GET request for object k of a size, with the minimal header
// of a browser.
func AppendObjectRequest(dst []byte, size, k int) []byte {
	return fmt.Appendf(dst, "GET %s%d/%d HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n"+
		"Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en\r\n\r\n", objectPath, size, k)
}

// ParseObject returns the object that a path names.
func ParseObject(path []byte) (size, k int, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte(objectPath))
	first, second, both := bytes.Cut(rest, []byte{'/'})
	size, err := strconv.Atoi(string(first))
	k, err2 := strconv.Atoi(string(second))
	return size, k, ok && both && err == nil && err2 == nil && size >= SmallObject && size <= LargeObject && k >= 0
}

// AppendObject appends the body of an object.
func AppendObject(dst []byte, size, k int) []byte {
	begin := len(dst)
	dst = fmt.Appendf(dst, `{"object":%d,"text":"`, k)
	for i := 0; len(dst)-begin < size-2; i++ {
		dst = append(dst, 'a'+byte((i*i+k)%26))
	}
	return append(dst, `"}`...)
}
