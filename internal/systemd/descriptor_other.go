//go:build !unix

package systemd

// closeOnExec does nothing: there are no inherited sockets on this system.
func closeOnExec(uintptr) {}
