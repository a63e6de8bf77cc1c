package balance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// faultServer is a server on a real socket whose faults the test controls.
type faultServer struct {
	name     string
	listener net.Listener
	mode     atomic.Pointer[string]
	executed *sync.Map // id of a write -> how often it was executed, for all servers

	mu   sync.Mutex
	open map[net.Conn]bool
}

func newFaultServer(t *testing.T, name string, executed *sync.Map) *faultServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &faultServer{name: name, listener: l, executed: executed, open: map[net.Conn]bool{}}
	s.set("ok")
	t.Cleanup(func() {
		l.Close()
		s.killAll()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[conn] = true
			s.mu.Unlock()
			if s.is("dead") {
				s.kill(conn)
				continue
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *faultServer) is(mode string) bool { return *s.mode.Load() == mode }

// set changes the mode; "dead" resets all connections too.
func (s *faultServer) set(mode string) {
	s.mode.Store(&mode)
	if mode == "dead" {
		s.killAll()
	}
}

func (s *faultServer) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	clear(s.open)
}

func (s *faultServer) kill(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

func (s *faultServer) serve(conn net.Conn) {
	defer s.kill(conn)
	for br := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		if r.Method == "POST" {
			n, _ := s.executed.LoadOrStore(r.URL.Path, new(atomic.Int32))
			n.(*atomic.Int32).Add(1)
		}
		status := "200"
		switch mode := *s.mode.Load(); mode {
		case "500", "503":
			status = mode
		case "garbage":
			io.WriteString(conn, "hello, world\r\n\r\n")
			return
		case "reset", "dead":
			return
		case "stall":
			br.Peek(1) // returns when the client gives up
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 %s X\r\nContent-Length: %d\r\n\r\n%s", status, len(s.name), s.name)
	}
}

// TestFaultsUnderLoad makes one of three members fail in every way and recover, under load. No
// read fails, and no write is executed twice.
func TestFaultsUnderLoad(t *testing.T) {
	const workers, requests = 8, 60
	for _, mode := range []string{"dead", "reset", "garbage", "500", "503", "stall"} {
		for _, algorithm := range Algorithms {
			t.Run(mode+", "+algorithm, func(t *testing.T) {
				var executed sync.Map
				var cfg Config
				var faultServers []*faultServer
				for _, name := range []string{"a", "b", "c"} {
					s := newFaultServer(t, name, &executed)
					faultServers = append(faultServers, s)
					cfg.Members = append(cfg.Members, Member{Name: name, URL: "http://" + s.listener.Addr().String()})
				}
				cfg.Algorithm = algorithm
				cfg.Retry.Statuses = []int{500, 503}
				cfg.Transport.HeadTimeout = time.Second
				g := group(t, cfg)
				var number atomic.Int32
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for range requests {
							n := number.Add(1)
							switch n {
							case workers * requests / 4:
								faultServers[1].set(mode)
							case workers * requests * 3 / 4:
								faultServers[1].set("ok")
							}
							q, path := get(), fmt.Sprintf("/%d", n)
							if n%3 == 0 {
								q = post("x")
							}
							q.Target = []byte(path)
							in, f := g.Do(t.Context(), q, &Choice{Key: q.Target})
							switch {
							case f == nil:
								body, err := io.ReadAll(in)
								if err != nil || n%3 != 0 && in.Status != 200 || len(body) != 1 {
									t.Errorf("%s: status %d, %q, %v", path, in.Status, body, err)
								}
								in.Close()
							case n%3 != 0:
								t.Errorf("read: %v", f)
							case !f.Reached:
								t.Errorf("write: %v", f)
							}
						}
					})
				}
				wg.Wait()
				executed.Range(func(path, n any) bool {
					if k := n.(*atomic.Int32).Load(); k != 1 {
						t.Errorf("%s was executed %d times", path, k)
					}
					return true
				})
			})
		}
	}
}
