package fluent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// away is a network without servers.
func away(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no route to host")
}

func ExampleNew() {
	server := fluentd{forwardtest.Detached(forwardtest.Options{})}

	logger, err := fluent.New([]string{"logs1.example.com", "tcp://logs2.example.com:24225"},
		fluent.WithTagPrefix("shop"),
		fluent.WithCompression(fluent.Gzip),
		fluent.WithDial(server.Dial), // for this example only
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("order", map[string]any{"id": 17, "total": 12.5}); err != nil {
		log.Println(err)
	}

	server.print(logger)
	// Output:
	// shop.order {"id":17,"total":12.5}
}

func ExampleLogger_Tag() {
	logger, server := start()

	orders := logger.Tag("app.order")
	for id := range 2 {
		if err := orders.Post(map[string]any{"id": id}); err != nil {
			log.Println(err)
		}
	}

	server.print(logger)
	// Output:
	// app.order {"id":0}
	// app.order {"id":1}
}

// A record that can't be sent is returned as an error.
func ExampleLogger_Post_errors() {
	logger, server := start()

	err := logger.Post("app", "just text")
	fmt.Println(errors.Is(err, fluent.ErrNotRecord))
	err = logger.Post("", map[string]any{})
	fmt.Println(errors.Is(err, fluent.ErrTag))
	err = logger.Post("app", map[string]any{"done": make(chan bool)})
	fmt.Println(err)

	server.print(logger)
	// Output:
	// true
	// true
	// fluent: record.done: can't encode chan bool
}

// With Block, a call waits for room as long as its context allows.
func ExampleLogger_PostContext() {
	logger, err := fluent.New(nil, fluent.WithDial(away), fluent.WithRecords(1), fluent.WithOverflow(fluent.Block))
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		err := logger.PostContext(ctx, "app", time.Now(), map[string]any{"n": 1})
		fmt.Println(errors.Is(err, fluent.ErrFull), errors.Is(err, context.DeadlineExceeded))
		cancel()
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var unsent *fluent.UnsentError
	fmt.Println(errors.As(logger.Shutdown(ended), &unsent), unsent.Records)
	// Output:
	// false false
	// true true
	// true 1
}

// Flush returns when everything posted before is delivered or safe.
func ExampleLogger_Flush() {
	logger, server := start()

	if err := logger.Post("app.start", map[string]any{"pid": 4711}); err != nil {
		log.Println(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(logger.Flush(ctx), server.Counts()["app.start"])

	server.print(logger)
	// Output:
	// <nil> 1
	// app.start {"pid":4711}
}

// Records that can't be delivered before the program ends are kept in the directory, and the
// next Logger sends them.
func ExampleWithSpill() {
	dir, err := os.MkdirTemp("", "spill")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	spill := fluent.WithSpill(dir, fluent.SpillOptions{MaxBytes: 64 << 20})

	logger, err := fluent.New([]string{"logs.example.com"}, spill, fluent.WithDial(away))
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}
	var unsent *fluent.UnsentError
	if errors.As(logger.Close(), &unsent) {
		fmt.Println(unsent.Spooled, "of", unsent.Records, "on disk")
	}

	server := fluentd{forwardtest.Detached(forwardtest.Options{})}
	logger, err = fluent.New([]string{"logs.example.com"}, spill, fluent.WithDial(server.Dial))
	if err != nil {
		log.Fatal(err)
	}
	server.print(logger)
	// Output:
	// 1 of 1 on disk
	// app {"n":1}
}

// While no server is up, records go to another Logger.
func ExampleNewFallbackHandler() {
	other, server := start()

	logger, err := fluent.New([]string{"far.example.com"}, fluent.WithDial(away),
		fluent.WithErrorHandler(fluent.NewFallbackHandler(other), 0))
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}
	if err := logger.Close(); err != nil {
		log.Println(err)
	}

	server.print(other)
	// Output:
	// app {"n":1}
}

func ExampleLogger_Subscribe() {
	logger, err := fluent.New([]string{"logs.example.com"}, fluent.WithDial(away))
	if err != nil {
		log.Fatal(err)
	}
	events := logger.Subscribe()
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}
	fmt.Println(<-events)
	fmt.Println(<-events)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	logger.Shutdown(ended)
	// Output:
	// logs.example.com: fail: fluent: server logs.example.com: no route to host
	// logs.example.com: tripped: fluent: server logs.example.com: no route to host
}

func ExampleLogger_Stats() {
	logger, server := start()

	for n := range 3 {
		if err := logger.Post("app", map[string]any{"n": n}); err != nil {
			log.Println(err)
		}
	}
	logger.Close()
	s := logger.Stats()
	fmt.Println(s.Posted, s.Delivered, s.Pending)
	server.Close()
	// Output:
	// 3 3 0
}

// The client of 2017 was used like this.
func ExampleNewLogger() {
	logger, err := fluent.NewLogger(fluent.Config{Address: "127.0.0.1:24224", PendingLimit: 1000})
	if err != nil {
		log.Fatal(err)
	}
	logger.ErrorHandler = fluent.ErrorHandlerFunc(func(err error, data []byte) error {
		return err // the records stay pending
	})
	fmt.Println(logger.Close())
	// Output:
	// <nil>
}
