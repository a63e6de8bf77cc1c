package main

import "testing"

func TestReadAB(t *testing.T) {
	const text = `Concurrency Level:      30
Complete requests:      1000
Failed requests:        7
   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)
Non-2xx responses:      2
Requests per second:    597.31 [#/sec] (mean)

Percentage of the requests served within a certain time (ms)
  50%     48
  99%    101
 100%    135 (longest request)
`
	if got, want := readAB([]byte(text)), (abReport{1000, 9, 597.31, 48, 101}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
