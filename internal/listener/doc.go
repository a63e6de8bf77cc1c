// Package listener serves connections whatever protocol is spoken on them: it accepts them,
// also when file descriptors run out, counts them for each client, reads them, and closes
// them when the server stops. A protocol implements Protocol and embeds a Conn in its own type
// of connection:
//
//	type conn struct {
//		listener.Conn
//		...
//	}
//
//	s := listener.NewServer(ln, listener.Config{
//		NewConn: func(nc net.Conn) *listener.Conn {
//			c := &conn{}
//			c.Init(s, c, nc)
//			return &c.Conn
//		},
//		...
//	})
//	go s.Serve()
package listener
