package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/kasoku/kasoku/internal/listener"
)

// inherited is a socket that systemd has opened. It remains open until the process ends, as
// systemd's own descriptor does: after a reload that leaves its address and one that returns to
// it, it is used again.
type inherited struct {
	file  *os.File
	addr  net.Addr
	taken bool
}

// inherit takes over n sockets. names are those of the socket units, separated by colons.
func (m *Manager) inherit(n int, names string) error {
	list := strings.Split(names, ":")
	var errs []error
	for i := range n {
		name := "unknown"
		if i < len(list) && list[i] != "" {
			name = list[i]
		}
		fd := firstDescriptor + uintptr(i)
		closeOnExec(fd)
		file := os.NewFile(fd, name)
		ln, err := net.FileListener(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("the inherited descriptor %d (%s) is no socket to listen on: %w", fd, name, err))
			continue
		}
		m.sockets = append(m.sockets, &inherited{file: file, addr: ln.Addr()})
		ln.Close() // a duplicate
	}
	return errors.Join(errs...)
}

// Listen returns a listener on the inherited socket with this address, or opens one if there is
// none. The network is tcp or unix.
func (m *Manager) Listen(network, address string) (net.Listener, error) {
	if m != nil {
		for _, s := range m.sockets {
			if !same(s.addr, network, address) {
				continue
			}
			ln, err := net.FileListener(s.file)
			if err != nil {
				return nil, fmt.Errorf("inherited socket %s: %w", s.file.Name(), err)
			}
			s.taken = true
			return ln, nil
		}
	}
	return listener.Listen(network, address)
}

// Unused returns a description of each inherited socket that Listen has never returned.
func (m *Manager) Unused() (list []string) {
	if m == nil {
		return nil
	}
	for _, s := range m.sockets {
		if !s.taken {
			list = append(list, fmt.Sprintf("%s (%s)", s.addr, s.file.Name()))
		}
	}
	return list
}

// same reports whether a socket has the address. All spellings of every interface are equal:
// ":8000", "0.0.0.0:8000" and "[::]:8000".
func same(a net.Addr, network, address string) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return network == "unix" && a.Name == address
	case *net.TCPAddr:
		if network != "tcp" {
			return false
		}
		want, err := net.ResolveTCPAddr(network, address)
		if err != nil || want.Port != a.Port || want.Zone != a.Zone {
			return false
		}
		every := len(want.IP) == 0 || want.IP.IsUnspecified()
		return every && a.IP.IsUnspecified() || want.IP.Equal(a.IP)
	}
	return false
}
