package dataset

import "fmt"

// Counts is how many values there are that servers before memcached are compared on:
// what a counter of 2009 had for each user and entry.
const Counts = 2000

// AppendCountKey appends the key of value k, without a namespace.
func AppendCountKey(dst []byte, k int) []byte {
	return fmt.Appendf(dst, "%d::%d", 100+k%100, 1000+k)
}

// AppendCount appends value k. All of them are of the same length.
func AppendCount(dst []byte, k int) []byte {
	return fmt.Appendf(dst, `{"status":"success", "count":%d}`, 1000+k)
}

// AppendCountRequest appends a whole GET of value k: of /count, or of /jsonp with a
// callback if that has a name.
func AppendCountRequest(dst []byte, k int, callback string) []byte {
	path, more := "/count", ""
	if callback != "" {
		path, more = "/jsonp", "&callback="+callback
	}
	return fmt.Appendf(dst, "GET %s?user_id=%d&entry_id=%d%s HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n"+
		"Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en\r\n\r\n", path, 100+k%100, 1000+k, more)
}

// AppendCountAnswer appends the body that such a request is answered with.
func AppendCountAnswer(dst []byte, k int, callback string) []byte {
	if callback == "" {
		return AppendCount(dst, k)
	}
	dst = append(append(dst, callback...), '(')
	return append(AppendCount(dst, k), ");"...)
}
