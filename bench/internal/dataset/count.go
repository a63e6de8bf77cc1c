package dataset

import "fmt"

// Counts is the number of values that servers for memcached are compared on. Each is like a
// counter of 2009 for a user and an entry.
const Counts = 2000

// AppendCountKey appends the key of value k, without a namespace.
func AppendCountKey(dst []byte, k int) []byte {
	return fmt.Appendf(dst, "%d::%d", 100+k%100, 1000+k)
}

// AppendCount appends value k. All values have the same length.
func AppendCount(dst []byte, k int) []byte {
	return fmt.Appendf(dst, `{"status":"success", "count":%d}`, 1000+k)
}

// AppendCountRequest appends a GET request for value k: for /count, or for /jsonp if
// callback is not empty.
func AppendCountRequest(dst []byte, k int, callback string) []byte {
	path, more := "/count", ""
	if callback != "" {
		path, more = "/jsonp", "&callback="+callback
	}
	return fmt.Appendf(dst, "GET %s?user_id=%d&entry_id=%d%s HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n"+
		"Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en\r\n\r\n", path, 100+k%100, 1000+k, more)
}

// AppendCountAnswer appends the body of the answer to AppendCountRequest's request.
func AppendCountAnswer(dst []byte, k int, callback string) []byte {
	if callback == "" {
		return AppendCount(dst, k)
	}
	dst = append(append(dst, callback...), '(')
	return append(AppendCount(dst, k), ");"...)
}
