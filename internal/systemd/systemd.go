// Package systemd is the side of a service in the protocols of systemd: it reports the state of
// the process to the service manager (sd_notify), and takes sockets over from it (socket
// activation).
//
//	m, err := systemd.FromEnvironment()
//	...
//	ln, err := m.Listen("tcp", "127.0.0.1:8000")
//	...
//	m.Ready("serving")
//
// A nil *Manager is that of a process that systemd has not started: it reports nothing, and
// opens all sockets itself.
package systemd

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Manager is the connection of this process to the service manager.
type Manager struct {
	address  string        // of the socket for notifications; "" if there is none
	watchdog time.Duration // 0 if there is no watchdog
	sockets  []*inherited
}

// The variables that systemd sets.
const (
	notifySocket   = "NOTIFY_SOCKET"
	watchdogPeriod = "WATCHDOG_USEC"
	watchdogPID    = "WATCHDOG_PID"
	listenCount    = "LISTEN_FDS"
	listenPID      = "LISTEN_PID"
	listenNames    = "LISTEN_FDNAMES"
)

// firstDescriptor is the number of the first inherited socket. It is a variable for tests.
var firstDescriptor uintptr = 3

// maxDescriptors bounds the number of inherited sockets.
const maxDescriptors = 1024

// FromEnvironment returns the manager that the environment of the process describes, and removes
// its variables, so that child processes can't mistake themselves for the service. Call it once.
// An error does not prevent the rest from being used.
func FromEnvironment() (*Manager, error) {
	m := &Manager{address: take(notifySocket)}
	count, pid, names := take(listenCount), take(listenPID), take(listenNames)
	period, watched := take(watchdogPeriod), take(watchdogPID)
	var errs []error
	if m.address != "" && m.address[0] != '@' && m.address[0] != '/' {
		errs = append(errs, fmt.Errorf("%s: %q is neither a path nor an abstract socket", notifySocket, m.address))
		m.address = ""
	}
	if period != "" && isSelf(watched) {
		n, err := strconv.ParseInt(period, 10, 64)
		if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond) {
			errs = append(errs, fmt.Errorf("%s: %q is no number of microseconds of a day at most", watchdogPeriod, period))
		} else {
			m.watchdog = time.Duration(n) * time.Microsecond
		}
	}
	if count != "" && pid != "" && isSelf(pid) {
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > maxDescriptors {
			errs = append(errs, fmt.Errorf("%s: %q is no number up to %d", listenCount, count, maxDescriptors))
		} else {
			errs = append(errs, m.inherit(n, names))
		}
	}
	return m, errors.Join(errs...)
}

// take returns the value of a variable, and removes it.
func take(name string) string {
	value := os.Getenv(name)
	os.Unsetenv(name)
	return value
}

// isSelf reports whether pid is this process. Without a number it is.
func isSelf(pid string) bool { return pid == "" || pid == strconv.Itoa(os.Getpid()) }
