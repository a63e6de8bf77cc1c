package memcached

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// login is a user name and password for SASL.
type login struct{ user, password string }

// StartSASL starts a memcached that accepts commands only after a SASL login, and only in
// the binary protocol. The test has its own list of users. A user without a realm, the part
// after @, gets the host's name as realm, as in memcached.
func StartSASL(t testing.TB, user, password string) *Server {
	t.Helper()
	dir := t.TempDir()
	list := filepath.Join(dir, "users")
	name, realm, ok := strings.Cut(user, "@")
	if !ok {
		var err error
		if realm, err = os.Hostname(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), tool("saslpasswd2"), "-p", "-c", "-f", list, "-a", "memcached", "-u", realm, name)
	cmd.Stdin = strings.NewReader(password)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("saslpasswd2, which make tools unpacks: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "memcached.conf"), []byte("mech_list: plain\nsasldb_path: "+list+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{sasl: &login{user, password}, env: []string{"SASL_CONF_PATH=" + dir}}
	return s.memcached(t, "-S")
}

// loginEnv returns the environment variables from which a service reads the password.
func (s *Server) loginEnv() []string {
	if s.sasl == nil {
		return nil
	}
	return []string{"MC_PASSWORD=" + s.sasl.password}
}

// Opcodes of the binary protocol.
const (
	opGetK  = 0x0c
	opStat  = 0x10
	opLogin = 0x21
)

// frame is a reply of the binary protocol.
type frame struct {
	status             uint16
	extras, key, value []byte
}

// talkBinary connects, logs in and calls talk with two functions: ask sends a command with a
// key and a value, and next reads a reply.
func (s *Server) talkBinary(talk func(ask func(opcode byte, key, value string) (frame, error), next func() (frame, error)) error) error {
	c, err := net.DialTimeout("tcp", s.Addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	next := func() (frame, error) { return readFrame(r) }
	ask := func(opcode byte, key, value string) (frame, error) {
		b := binary.BigEndian.AppendUint16([]byte{0x80, opcode}, uint16(len(key)))
		b = binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(len(key)+len(value)))
		b = append(b, make([]byte, 12)...)
		if _, err := c.Write(append(append(b, key...), value...)); err != nil {
			return frame{}, err
		}
		return next()
	}
	f, err := ask(opLogin, "PLAIN", "\x00"+s.sasl.user+"\x00"+s.sasl.password)
	if err != nil || f.status != 0 {
		return fmt.Errorf("the login ends with status %d, %q (%w)", f.status, f.value, err)
	}
	return talk(ask, next)
}

func readFrame(r io.Reader) (f frame, err error) {
	var head [24]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	extras, key := int(head[4]), int(binary.BigEndian.Uint16(head[2:]))
	body := make([]byte, binary.BigEndian.Uint32(head[8:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return f, err
	}
	return frame{binary.BigEndian.Uint16(head[6:]), body[:extras], body[extras : extras+key], body[extras+key:]}, nil
}

// heldBinary is Held over the binary protocol.
func (s *Server) heldBinary(t testing.TB, keys []string) map[string]Item {
	t.Helper()
	held := map[string]Item{}
	err := s.talkBinary(func(ask func(byte, string, string) (frame, error), _ func() (frame, error)) error {
		for _, key := range keys {
			f, err := ask(opGetK, key, "")
			if err != nil {
				return err
			}
			if f.status == 0 {
				held[key] = Item{Value: bytes.Clone(f.value), Flags: binary.BigEndian.Uint32(f.extras)}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("query %s: %v", s.Addr, err)
	}
	return held
}

// statsBinary is Stats over the binary protocol.
func (s *Server) statsBinary() (map[string]string, error) {
	stats := map[string]string{}
	return stats, s.talkBinary(func(ask func(byte, string, string) (frame, error), next func() (frame, error)) error {
		f, err := ask(opStat, "", "")
		for ; err == nil && len(f.key) > 0; f, err = next() {
			stats[string(f.key)] = string(f.value)
		}
		return err
	})
}
