//go:build !unix

package loggers

import "time"

// processTime is not measured here.
func processTime() time.Duration { return 0 }

// peak is not measured here.
func peak() uint64 { return 0 }
