package flight_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

func Example() {
	c, _ := cache.New(cache.Config{Memory: 16 << 20, Generations: 1 << 10})
	defer c.Close()
	space, _ := c.NewSpace(0)
	s := store.New(space, store.Limits{})
	defer s.Close()
	group := flight.NewGroup(s, space, flight.Limits{})
	defer group.Close()

	options, now := policy.Defaults(), policy.MomentOf(time.Now())
	q := &store.Query{Key: []byte("http://host/path"), Now: now, Options: &options}
	fill := func(context.Context, *flight.Flight) (*flight.Answer, error) {
		fields := http1.FieldsOf("Cache-Control", "max-age=60")
		head := store.NewHead(policy.ParseResponse(200, fields, now, now, &options), fields, q.Fields, &options)
		return &flight.Answer{Head: head, Body: io.NopCloser(strings.NewReader("hello")), Length: 5, Share: true}, nil
	}

	w := group.Join(&flight.Request{Query: q, Fill: fill})
	defer w.Leave()
	out, err := w.Wait(context.Background())
	if err != nil || out.Kind != flight.Whole && out.Kind != flight.Streaming {
		fmt.Println("no answer:", err)
		return
	}
	for {
		b, err := w.Next(context.Background())
		if err != nil {
			break // io.EOF
		}
		fmt.Printf("%s\n", b)
	}
	// Output: hello
}
