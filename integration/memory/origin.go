// Package memory attacks a running node with clients that do not read their answers, and
// compares the process's use of memory with the configured bound.
package memory

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// filler is the content of all bodies.
var filler = make([]byte, 1<<20)

// serveObjects answers GET /KIND/SIZE/NAME with a body of SIZE bytes. An answer of kind
// "kept" may be stored, one of kind "passed" may not, and one of kind "chunked" may be
// stored and has no Content-Length. Request bodies are read and discarded.
func serveObjects(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	part := strings.SplitN(r.URL.Path, "/", 4)
	if len(part) < 4 {
		http.NotFound(w, r)
		return
	}
	size, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if part[1] == "passed" {
		w.Header().Set("Cache-Control", "no-store")
	} else {
		w.Header().Set("Cache-Control", "max-age=3600")
	}
	if part[1] != "chunked" {
		w.Header().Set("Content-Length", part[2])
	}
	for size > 0 {
		n, err := w.Write(filler[:min(size, int64(len(filler)))])
		if err != nil {
			return
		}
		size -= int64(n)
	}
}

// target returns the path of an object.
func target(kind string, size int, name string) string {
	return fmt.Sprintf("/%s/%d/%s", kind, size, name)
}
