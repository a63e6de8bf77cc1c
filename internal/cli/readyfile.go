package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// readyFile is a file that serve writes when all listeners answer, for programs that started
// it with ports of its choice.
type readyFile string

// ready is the content of a ready file.
type ready struct {
	PID      int                     `json:"pid"`
	Admin    string                  `json:"admin"`
	Services map[string]readyService `json:"services"`
}

// readyService has the addresses of one service, as HOST:PORT or unix:PATH.
type readyService struct {
	Type    string `json:"type"`
	Address string `json:"address"`
	DAX     string `json:"dax,omitempty"`
}

// ready returns the content of a ready file.
func (n *Node) ready() ready {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := ready{PID: os.Getpid(), Admin: text(n.admin.Addr()), Services: map[string]readyService{}}
	for _, m := range n.mounts {
		s := readyService{Type: m.cfg.Type, Address: text(m.server.Addr())}
		if m.dax != nil {
			s.DAX = text(m.dax.server.Addr())
		}
		r.Services[m.cfg.Name] = s
	}
	return r
}

// text returns the address at which programs on this machine reach a listener.
func text(addr net.Addr) string {
	if addr.Network() == "unix" {
		return "unix:" + addr.String()
	}
	return reachable(addr)
}

// write writes the file. Readers see it either complete or not at all.
func (f readyFile) write(r ready) error {
	if f == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(string(f)), filepath.Base(string(f))+".*")
	if err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	_, err = temp.Write(append(data, '\n'))
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), string(f))
	}
	if err != nil {
		err = fmt.Errorf("--ready-file: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return err
}

// remove removes the file, which may be missing.
func (f readyFile) remove() error {
	if f == "" {
		return nil
	}
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--ready-file: %w", err)
	}
	return nil
}
