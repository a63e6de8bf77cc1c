package http1

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// statusLines holds the status lines of all statuses that have a name.
var statusLines = func() (lines [600]string) {
	for code := range lines {
		if text := http.StatusText(code); text != "" {
			lines[code] = "HTTP/1.1 " + strconv.Itoa(code) + " " + text + "\r\n"
		}
	}
	return lines
}()

// AppendStatus appends the status line.
func AppendStatus(dst []byte, code int) []byte {
	if code > 0 && code < len(statusLines) && statusLines[code] != "" {
		return append(dst, statusLines[code]...)
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	return append(dst, " \r\n"...)
}

// AppendField appends a header line. Bytes that could end the line become
// blanks, so that no value can smuggle in a line of its own.
func AppendField(dst []byte, name, value string) []byte {
	return endField(append(append(append(dst, name...), ": "...), value...), len(value))
}

// AppendFieldBytes is AppendField for a value in bytes. One generic function would move its
// arguments to the heap where it is called from another package.
func AppendFieldBytes(dst []byte, name string, value []byte) []byte {
	return endField(append(append(append(dst, name...), ": "...), value...), len(value))
}

// endField ends a header line whose value has n bytes.
func endField(line []byte, n int) []byte {
	defuse(line[len(line)-n:])
	return append(line, "\r\n"...)
}

// AppendFieldUint appends a header line with a number.
func AppendFieldUint(dst []byte, name string, v uint64) []byte {
	dst = append(append(dst, name...), ": "...)
	dst = strconv.AppendUint(dst, v, 10)
	return append(dst, "\r\n"...)
}

// defuse turns control bytes into blanks.
func defuse(v []byte) {
	if ValidValue(v) {
		return
	}
	for i, c := range v {
		if c < ' ' && c != '\t' || c == 0x7f {
			v[i] = ' '
		}
	}
}

// Date renders the Date field once a second. The zero value is ready for use, also
// concurrently.
type Date struct {
	// line is replaced, never changed: a goroutine that sees an old second makes the new
	// line, and two that do so at once make the same one.
	line atomic.Pointer[dateLine]
}

type dateLine struct {
	second int64
	text   [len("Date: ") + len(http.TimeFormat) + 2]byte
}

// Append appends the Date field of the given instant.
func (d *Date) Append(dst []byte, now time.Time) []byte {
	l := d.line.Load()
	if second := now.Unix(); l == nil || l.second != second {
		l = &dateLine{second: second}
		text := append(l.text[:0], "Date: "...)
		text = now.UTC().AppendFormat(text, http.TimeFormat)
		_ = append(text, "\r\n"...)
		d.line.Store(l)
	}
	return append(dst, l.text[:]...)
}

// BodyAllowed reports whether an answer with this status may have a body.
func BodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// Continue is the interim answer that a client waits for before it sends a body.
var Continue = []byte("HTTP/1.1 100 Continue\r\n\r\n")
