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

const passPath = "/pass/"

// HugeObject is the size of the largest bodies that are forwarded.
const HugeObject = 1 << 20

// AppendPassRequest appends a request that no cache may answer, for a body of so many bytes.
// Its own body, if it has one, makes it a POST.
func AppendPassRequest(dst []byte, size int, body []byte) []byte {
	method := "GET"
	if body != nil {
		method = "POST"
	}
	dst = fmt.Appendf(dst, "%s %s%d HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n"+
		"Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en\r\n", method, passPath, size)
	if body != nil {
		dst = fmt.Appendf(dst, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(dst, "\r\n"...), body...)
}

// ParsePass returns the length of the body that a path asks for.
func ParsePass(path []byte) (size int, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte(passPath))
	size, err := strconv.Atoi(string(rest))
	return size, ok && err == nil && size >= SmallObject && size <= HugeObject
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
