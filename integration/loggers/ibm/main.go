// Command ibm measures github.com/IBM/fluent-forward-go.
package main

import (
	"time"

	"github.com/IBM/fluent-forward-go/fluent/client"

	"github.com/kasoku/kasoku/bench/loggers"
)

func main() {
	loggers.Main(func(o loggers.Options) (*loggers.Logger, error) {
		c := client.New(client.ConnectionOptions{
			Factory:    &client.ConnFactory{Network: "tcp", Address: o.Addr, Timeout: 3 * time.Second},
			RequireAck: o.Ack,
		})
		if err := c.Connect(); err != nil {
			return nil, err
		}
		return &loggers.Logger{Post: func(record any) error { return c.SendMessage(loggers.Tag, record) }, Close: c.Disconnect}, nil
	})
}
