//go:build !linux

package listener

import "net"

// listenConfig returns Go's default.
func listenConfig() *net.ListenConfig { return &net.ListenConfig{} }
