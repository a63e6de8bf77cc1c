package nats

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// deployment returns a server of the user's, which requires a password and permits subjects
// of the cluster "test" only.
func deployment(t *testing.T, password string, port int) *server.Server {
	t.Helper()
	below := &server.SubjectPermission{Allow: []string{"kasoku.test.>"}}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true,
		Users: []*server.User{{Username: "user", Password: password,
			Permissions: &server.Permissions{Publish: below, Subscribe: below}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	await.Until(t, func() bool { return s.Addr() != nil })
	return s
}

// use returns a change of a configuration that uses the server at the address.
func use(password, address string) func(*Config) {
	return func(c *Config) { c.URL = fmt.Sprintf("nats://user:%s@%s", password, address) }
}

func TestDeployment(t *testing.T) {
	s := deployment(t, "password", server.RANDOM_PORT)
	address, port := s.Addr().String(), s.Addr().(*net.TCPAddr).Port
	a := start(t, "a", 0xa, use("password", address))
	b := start(t, "b", 0xb, use("password", address))
	exchange := func(frame string) {
		t.Helper()
		reaches(t, a, b)
		if err := a.Broadcast([]byte(frame)); err != nil {
			t.Fatal(err)
		}
		await.Until(t, func() bool { return b.received(frame) == 1 })
		if a.received(frame) != 0 {
			t.Error("a received its own broadcast")
		}
	}
	exchange("1")
	if got := a.client.Opts.MaxReconnect; got >= 0 {
		t.Errorf("it gives up after %d attempts to connect", got)
	}
	if a.Addr() != nil {
		t.Errorf("it listens on %v", a.Addr())
	}
	a.SetPeers(map[string]string{"x": "127.0.0.1:1"})
	a.Repair()

	s.Shutdown()
	s.WaitForShutdown()
	await.Until(t, func() bool { return !a.Stats().Connected && !b.Stats().Connected })
	if err := a.Broadcast([]byte("late")); err == nil {
		t.Error("a broadcast without a connection succeeded")
	}
	c := start(t, "c", 0xc, use("password", address)) // before the deployment
	b.listen(t, 0xbb)
	deployment(t, "password", port)
	reaches(t, a, b, c)
	exchange("2")
	if b.received("late") != 0 {
		t.Error("a frame was sent late")
	}
	if s := a.Stats(); s.Reconnects != 1 || !s.Connected {
		t.Errorf("%+v", s)
	}
}

// TestDeploymentRefuses starts a node with a wrong password, which is logged once. The node
// tries again, because the deployment may be corrected.
func TestDeploymentRefuses(t *testing.T) {
	s := deployment(t, "password", server.RANDOM_PORT)
	address, port := s.Addr().String(), s.Addr().(*net.TCPAddr).Port
	warned := make(chan string, 100)
	n := start(t, "n", 1, func(c *Config) {
		use("wrong", address)(c)
		c.Log = watch(warned)
	})
	if got := <-warned; !strings.Contains(strings.ToLower(got), "authorization violation") {
		t.Errorf("%s", got)
	}
	if n.Stats().Connected {
		t.Error("it is connected")
	}
	if err := n.Broadcast(nil); err == nil {
		t.Error("a broadcast succeeded")
	}
	await.Until(t, func() bool {
		v, err := s.Varz(nil)
		return err == nil && v.TotalConnections > 3
	})
	s.Shutdown()
	s.WaitForShutdown()
	deployment(t, "wrong", port)
	await.Until(t, func() bool { return n.Stats().Connected })
}

func TestDeploymentMistakes(t *testing.T) {
	f := func(name, want string, change func(*Config)) {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Cluster: "test", Name: "n", URL: "nats://user:secret@127.0.0.1:1"}
			change(&cfg)
			transport, err := Start(cfg)
			if err == nil {
				transport.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v; want %s", err, want)
			}
		})
	}
	f("port", "port", func(c *Config) { c.URL = "nats://user:secret@127.0.0.1:port" })
	f("no credentials", "none", func(c *Config) { c.Credentials = filepath.Join(t.TempDir(), "none") })
}
