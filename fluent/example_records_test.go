package fluent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// fluentd is a server for the examples.
type fluentd struct{ *forwardtest.Receiver }

// start returns a Logger and the server that it sends to.
func start() (*fluent.Logger, fluentd) {
	server := fluentd{forwardtest.Detached(forwardtest.Options{})}
	logger, err := fluent.New([]string{"logs.example.com"}, fluent.WithDial(server.Dial))
	if err != nil {
		log.Fatal(err)
	}
	return logger, server
}

// print ends the Logger and prints the records that the server has received.
func (f fluentd) print(logger *fluent.Logger) {
	if err := logger.Close(); err != nil {
		fmt.Println(err)
	}
	for _, e := range f.Events() {
		record, err := json.Marshal(e.Record)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(e.Tag, string(record))
	}
	f.Close()
}

func ExampleRecord() {
	logger, server := start()

	var r fluent.Record
	for id := range 2 {
		r.Reset().Str("method", "GET").Int("status", 200+id).Duration("took", 3*time.Millisecond)
		r.Begin("client").Str("ip", "192.0.2.7").Int("port", 50123).End()
		if err := logger.Post("app.access", &r); err != nil {
			fmt.Println(err)
		}
	}

	server.print(logger)
	// Output:
	// app.access {"client":{"ip":"192.0.2.7","port":50123},"method":"GET","status":200,"took":3000000}
	// app.access {"client":{"ip":"192.0.2.7","port":50123},"method":"GET","status":201,"took":3000000}
}

// A value that can't be encoded is reported by Post, and nothing is sent.
func ExampleRecord_Any() {
	logger, server := start()

	var r fluent.Record
	r.Str("job", "import").Any("tables", []string{"users", "orders"})
	fmt.Println(logger.Post("app.jobs", &r))

	r.Reset().Any("done", make(chan bool))
	fmt.Println(logger.Post("app.jobs", &r))

	server.print(logger)
	// Output:
	// <nil>
	// fluent: record.done: can't encode chan bool
	// app.jobs {"job":"import","tables":["users","orders"]}
}

// Origin is embedded in records, which get its fields.
type Origin struct {
	Service string `fluent:"service"`
	Version string `fluent:"version,omitempty"`
}

// Payment is logged as a struct. The tag "fluent" is the first to count, then
// "msg", then "json".
type Payment struct {
	Origin
	ID      int               `json:"id"`
	Amount  float64           `fluent:"amount" json:"-"`
	Card    string            `fluent:"-" json:"card"`
	Settled time.Time         `fluent:"settled,omitzero"`
	Err     error             `fluent:"error,omitempty"`
	Labels  map[string]string `fluent:",inline"`
}

func ExampleLogger_Post_struct() {
	logger, server := start()

	logger.Post("shop.payment", &Payment{
		Origin:  Origin{Service: "checkout"},
		ID:      17,
		Amount:  9.5,
		Card:    "4111 1111 1111 1111",
		Settled: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Labels:  map[string]string{"region": "eu"},
	})
	logger.Post("shop.payment", Payment{ID: 18, Err: errors.New("card refused")})

	server.print(logger)
	// Output:
	// shop.payment {"amount":9.5,"id":17,"region":"eu","service":"checkout","settled":"2026-01-02T03:04:05Z"}
	// shop.payment {"amount":0,"error":"card refused","id":18,"service":""}
}

func ExampleNewHandler() {
	logger, server := start()

	handler := fluent.NewHandler(logger, "app", &fluent.HandlerOptions{Level: slog.LevelDebug})
	l := slog.New(handler).With("service", "checkout")
	l.Debug("cart loaded", "items", 3)
	l.WithGroup("payment").Error("refused", "id", 17, "err", errors.New("limit reached"))

	server.print(logger)
	// Output:
	// app {"items":3,"level":"DEBUG","msg":"cart loaded","service":"checkout"}
	// app {"level":"ERROR","msg":"refused","payment":{"err":"limit reached","id":17},"service":"checkout"}
}

func ExampleHandlerOptions() {
	logger, server := start()

	handler := fluent.NewHandler(logger, "app", &fluent.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			switch {
			case len(groups) == 0 && a.Key == slog.MessageKey:
				a.Key = "message" // as most receivers call it
			case a.Key == "password":
				return slog.Attr{} // never
			}
			return a
		},
	})
	slog.New(handler).Info("login", "user", "ada", "password", "secret")

	server.print(logger)
	// Output:
	// app {"level":"INFO","message":"login","user":"ada"}
}

func ExampleNewWriter() {
	logger, server := start()

	w := fluent.NewWriter(logger, "app.log", nil)
	l := log.New(w, "worker: ", 0)
	l.Print("started")
	fmt.Fprint(w, "two lines in\none call, and a part")
	if err := w.Close(); err != nil { // before the Logger
		fmt.Println(err)
	}

	server.print(logger)
	// Output:
	// app.log {"message":"worker: started"}
	// app.log {"message":"two lines in"}
	// app.log {"message":"one call, and a part"}
}

// While no server can be reached, records go to a file, or here to the standard
// output.
func ExampleNewFallbackJSONHandler() {
	away := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route to host") }
	logger, err := fluent.New([]string{"logs.example.com"}, fluent.WithDial(away),
		fluent.WithErrorHandler(fluent.NewFallbackJSONHandler(os.Stdout), 0))
	if err != nil {
		log.Fatal(err)
	}
	at := time.Unix(1700000000, 250_000_000)
	if err := logger.PostWithTime("app.access", at, map[string]any{"status": 200}); err != nil {
		fmt.Println(err)
	}
	if err := logger.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ["app.access",1700000000.25,{"status":200}]
}
