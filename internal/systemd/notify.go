package systemd

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// sendTimeout bounds the time for which a notification waits for the service manager.
const sendTimeout = time.Second

// maxStatus bounds the length of a status, which is one line for people.
const maxStatus = 500

// Ready reports that the process serves, with a status for people. It also ends a reload.
func (m *Manager) Ready(status string) error { return m.send("READY=1\n" + statusLine(status)) }

// Reloading reports that the process reads its configuration again. Ready has to follow.
func (m *Manager) Reloading() error {
	if m == nil || m.address == "" {
		return nil
	}
	now, err := monotonic()
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	return m.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Microseconds()))
}

// Stopping reports that the process stops.
func (m *Manager) Stopping() error { return m.send("STOPPING=1\n" + statusLine("stopping")) }

// Watch reports to the watchdog at half of its period, as long as alive returns nil, until ctx
// ends. alive has to return when its context ends. The failure of alive, or of a notification,
// is passed to failed. Without a watchdog Watch returns at once.
func (m *Manager) Watch(ctx context.Context, alive func(context.Context) error, failed func(error)) {
	if m == nil || m.address == "" || m.watchdog == 0 {
		return
	}
	watch(ctx, m.watchdog/2, alive, func() error { return m.send("WATCHDOG=1") }, failed)
}

func watch(ctx context.Context, every time.Duration, alive func(context.Context) error, report func() error, failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		attempt, cancel := context.WithTimeout(ctx, every)
		err := alive(attempt)
		cancel()
		if err == nil {
			err = report()
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// statusLine returns the assignment of a status, on one line.
func statusLine(status string) string {
	status = strings.Join(strings.FieldsFunc(status, func(r rune) bool { return r == '\n' || r == '\r' || r == 0 }), "; ")
	if len(status) > maxStatus {
		status = strings.ToValidUTF8(status[:maxStatus], "")
	}
	return "STATUS=" + status
}

// send sends one notification.
func (m *Manager) send(state string) error {
	if m == nil || m.address == "" {
		return nil
	}
	// A name that begins with @ is an abstract socket for package net too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.address, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	return nil
}
