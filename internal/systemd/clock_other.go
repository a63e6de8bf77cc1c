//go:build !linux

package systemd

import (
	"errors"
	"time"
)

// monotonic is for Linux.
func monotonic() (time.Duration, error) { return 0, errors.ErrUnsupported }
