package fluent

import (
	"context"
	"net"
	"strings"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// byHost dials the receivers by the names a, b, c ...
func byHost(rs ...*forwardtest.Receiver) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return rs[strings.Index("abcdef", address[:1])].Dial(ctx, network, address)
	}
}
