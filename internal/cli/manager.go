package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/kasoku/kasoku/internal/config"
)

// opened returns a channel that is closed when all listeners accept connections.
func (n *Node) opened() <-chan struct{} {
	if n.member != nil {
		return n.member.opened
	}
	done := make(chan struct{})
	close(done)
	return done
}

// report logs the failure of a notification of the service manager.
func (n *Node) report(err error) {
	if err != nil {
		n.log.Warn("the service manager was not notified", "error", err)
	}
}

// reportReady reports to the service manager that the node serves.
func (n *Node) reportReady() {
	n.mu.Lock()
	status := fmt.Sprintf("serving, services: %d", len(n.mounts))
	n.mu.Unlock()
	n.report(n.manager.Ready(status))
}

// reloadReported is Reload with reports to the service manager and to the log.
func (n *Node) reloadReported(read func() (*config.Config, error)) {
	n.report(n.manager.Reloading())
	if err := n.Reload(read); err != nil {
		n.log.Error(err.Error())
		n.report(n.manager.Ready(err.Error()))
		return
	}
	n.reportReady()
}

// attendWatchdog reports to the service manager's watchdog, as long as the admin server answers,
// until the returned function is called.
func (n *Node) attendWatchdog() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.manager.Watch(ctx, n.answers, func(err error) {
			n.log.Error("not reported to the watchdog", "error", err)
		})
	}()
	return func() {
		cancel()
		<-done
	}
}

// answers returns nil if the admin server answers a request for /readyz, which reads the state
// of all services, with any status.
func (n *Node) answers(ctx context.Context) error {
	at := n.AdminAddr()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, at.Network(), at.String())
		},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("the admin server at %s does not answer: %w", at, err)
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
