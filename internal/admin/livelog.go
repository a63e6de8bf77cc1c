package admin

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry/live"
)

// logWriteTime is how long a write to a reader of the log may take.
const logWriteTime = 30 * time.Second

// LogLost is a line among the records of the log: the reader was too slow for that number of
// records, which were newer than the ones before this line.
type LogLost struct {
	Lost uint64 `json:"lost"`
}

// liveLog answers with the records of requests as these end, until the client closes the
// connection, it has got as many as it wants, or the server is shut down.
func (s *Server) liveLog(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	filter, err := live.Parse(q.Get("q"))
	if err != nil {
		fail(w, http.StatusBadRequest, "q: %v", err)
		return
	}
	left := 0 // all
	if n := q.Get("n"); n != "" {
		if left, err = strconv.Atoi(n); err != nil || left <= 0 {
			fail(w, http.StatusBadRequest, "n is a number of records, not %q", n)
			return
		}
	}
	reader, err := s.live.Open(filter)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "%v: %d are open", err, live.MaxReaders)
		return
	}
	defer reader.Close()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	w.Header().Set("Content-Type", "application/x-ndjson")
	control := http.NewResponseController(w)
	for send := []byte(nil); ; {
		// The first write is the head alone: the client sees that its request was taken.
		_ = control.SetWriteDeadline(time.Now().Add(logWriteTime))
		if _, err := w.Write(send); err != nil || control.Flush() != nil {
			return
		}
		lines, lost, err := reader.Next(ctx)
		if err != nil {
			return
		}
		if left > 0 {
			var enough bool
			if lines, enough = firstLines(lines, &left); enough {
				_, _ = w.Write(lines)
				return
			}
		}
		if send = lines; lost > 0 {
			send = fmt.Appendf(lines, "{\"lost\":%d}\n", lost)
		}
	}
}

// firstLines returns the first lines up to the number left, which it decreases, and reports whether
// none is left.
func firstLines(lines []byte, left *int) (first []byte, enough bool) {
	for at := 0; at < len(lines); {
		at += bytes.IndexByte(lines[at:], '\n') + 1
		if *left--; *left == 0 {
			return lines[:at], true
		}
	}
	return lines, false
}
