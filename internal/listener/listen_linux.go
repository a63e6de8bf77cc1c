package listener

import (
	"net"
	"syscall"
)

// listenConfig returns a configuration whose connections are kept alive as Go's are by
// default: a probe after 15 s of silence and every 15 s from then on, and the end after nine
// probes without an answer. They inherit that from the listener, which saves four system
// calls for each connection. They use plain TCP: the assumptions of packages socket and
// pages do not hold for Multipath TCP.
func listenConfig() *net.ListenConfig {
	lc := &net.ListenConfig{KeepAlive: -1, Control: func(network, _ string, raw syscall.RawConn) (err error) {
		if network == "unix" {
			return nil
		}
		refused := raw.Control(func(fd uintptr) {
			for _, o := range [...]struct{ level, option, value int }{
				{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 15},
				{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 9},
			} {
				if err == nil {
					err = syscall.SetsockoptInt(int(fd), o.level, o.option, o.value)
				}
			}
		})
		if err == nil {
			err = refused
		}
		return err
	}}
	lc.SetMultipathTCP(false)
	return lc
}
