package fluent

import (
	"fmt"
	"io"
	"sync"
)

// NewFallbackJSONHandler returns an ErrorHandler that writes each record to w as a line of
// JSON, [tag, time, record]:
//
//	["app.access",1700000000.25,{"status":200,"path":"/"}]
//
// The time is in seconds since 1970. Binary data is base64, floats that aren't finite are
// null, and invalid UTF-8 becomes U+FFFD; all other values are preserved. The lines of a
// batch are written by one call of Write. If that fails, the batch remains pending, and all of
// its lines will be written again. The handler may be used by several Loggers.
func NewFallbackJSONHandler(w io.Writer) ErrorHandler { return &jsonHandler{w: w} }

type jsonHandler struct {
	mu    sync.Mutex
	w     io.Writer
	lines []byte
}

// HandleError writes the records in data, whatever the cause.
func (h *jsonHandler) HandleError(_ error, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = h.lines[:0]
	for len(data) > 0 {
		var err error
		if h.lines, data, err = appendJSON(h.lines, data); err != nil {
			return fmt.Errorf("fluent: writing records as JSON: %w", err)
		}
		h.lines = append(h.lines, '\n')
	}
	n, err := h.w.Write(h.lines)
	if err == nil && n < len(h.lines) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("fluent: writing records as JSON: %w", err)
	}
	return nil
}
