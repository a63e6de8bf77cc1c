package listener

import (
	"context"
	"net"
)

// Listen opens a listener whose connections are kept alive.
func Listen(network, address string) (net.Listener, error) {
	return listenConfig().Listen(context.Background(), network, address)
}
