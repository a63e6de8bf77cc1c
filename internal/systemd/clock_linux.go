package systemd

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of the clock that systemd compares reloads with.
func monotonic() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
