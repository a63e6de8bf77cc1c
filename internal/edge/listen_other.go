//go:build !linux

package edge

import "net"

// listenConfig is Go's default.
func listenConfig() *net.ListenConfig { return &net.ListenConfig{} }
