package proc

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// TestMain makes the test binary also serve as the servers that are started.
func TestMain(m *testing.M) {
	switch os.Getenv("PROC_TEST_ROLE") {
	case "server":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(l.Addr())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
		io.Copy(io.Discard, os.Stdin)
	case "broken":
		fmt.Fprintln(os.Stderr, "no luck today")
		os.Exit(3)
	default:
		os.Exit(m.Run())
	}
}

// self returns the command that runs the test binary in a role of TestMain.
func self(t *testing.T, role string) Command {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Name: role, Args: []string{exe}, Env: []string{"PROC_TEST_ROLE=" + role}, Dir: t.TempDir()}
}

func TestServer(t *testing.T) {
	p, err := Start(self(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if err := p.Alive(); err != nil {
		t.Error(err)
	}
	if rss, err := p.RSS(); err != nil || rss < 1<<20 {
		t.Errorf("RSS %d, %v", rss, err)
	}
	spent, err := p.CPU()
	if measurable && (err != nil || spent <= 0) {
		t.Errorf("CPU %v, %v", spent, err)
	}
	p.Stop()
	if p.Alive() == nil {
		t.Error("Alive returned nil after Stop")
	}
	if c, err := net.Dial("tcp", p.Addr); err == nil {
		c.Close()
		t.Error("the address still accepts connections after Stop")
	}
}

func TestErrorQuotesOutputOfServer(t *testing.T) {
	c := self(t, "broken")
	_, err := Start(c)
	if err == nil || !strings.Contains(err.Error(), "no luck today") {
		t.Errorf("the error does not have the server's output: %v", err)
	}
	if c.Addr, err = FreeAddr(); err != nil {
		t.Fatal(err)
	}
	if _, err = Start(c); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Errorf("the error does not have the server's end: %v", err)
	}
	c.Args = []string{c.Dir + "/nothing"}
	if _, err = Start(c); err == nil {
		t.Error("Start of a missing program succeeded")
	}
}
