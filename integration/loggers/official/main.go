// Command official measures github.com/fluent/fluent-logger-golang.
package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/fluent/fluent-logger-golang/fluent"

	"github.com/kasoku/kasoku/bench/loggers"
)

func main() {
	loggers.Main(func(o loggers.Options) (*loggers.Logger, error) {
		host, port, err := net.SplitHostPort(o.Addr)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", o.Addr, err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("port of %q: %w", o.Addr, err)
		}
		f, err := fluent.New(fluent.Config{FluentHost: host, FluentPort: number, Async: o.Mode == "async", RequestAck: o.Ack})
		if err != nil {
			return nil, err
		}
		return &loggers.Logger{Post: func(record any) error { return f.Post(loggers.Tag, record) }, Close: f.Close}, nil
	})
}
