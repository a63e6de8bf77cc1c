//go:build unix && !linux

package edge

import "syscall"

// peerGone says whether the client has closed its end and all that it sent is
// read.
func peerGone(raw syscall.RawConn) bool {
	gone := false
	err := raw.Control(func(fd uintptr) { gone = peekEnd(int(fd)) })
	return gone || err != nil
}

// readNow reads what is there; EAGAIN says that nothing is.
func readNow(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// writeNow writes what there is room for.
func writeNow(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// attend has nothing to do: readNow and writeNow are seen by the runtime.
func attend() {}
