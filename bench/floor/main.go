// Command floor is a lower bound for the cost of a server in Go: it reads a request, looks
// only at the operation's name, and writes a prepared answer. The benchmarks report the cost
// of a cache as a multiple of the floor's.
//
// With -relay ADDRESS it is a lower bound for a proxy instead: it forwards every request and
// returns the answer.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/valyala/fasthttp"
)

func main() {
	relayTo := flag.String("relay", "", "pass everything on to this `address`")
	flag.Parse()
	handler := answerer()
	if *relayTo != "" {
		handler = relay(*relayTo)
	}
	if err := serve(handler); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func serve(handler fasthttp.RequestHandler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Println(listener.Addr())
	server := &fasthttp.Server{
		Handler:               handler,
		NoDefaultServerHeader: true,
		Concurrency:           20_000,
		IdleTimeout:           10 * time.Minute,
		ReadTimeout:           10 * time.Minute,
	}
	return server.Serve(listener)
}

// relay returns a handler that forwards requests over kept connections.
func relay(addr string) fasthttp.RequestHandler {
	client := &fasthttp.HostClient{Addr: addr, MaxConns: 1000}
	return func(x *fasthttp.RequestCtx) {
		if err := client.Do(&x.Request, &x.Response); err != nil {
			x.Error(err.Error(), fasthttp.StatusBadGateway)
		}
	}
}

// answerer returns a handler that answers by operation, with as many bytes as a cache sends.
func answerer() fasthttp.RequestHandler {
	set := dataset.Even
	numbers := make([]int, dataset.BatchSize)
	answers := map[string][]byte{
		"GetItem":      set.AppendGetAnswer(nil, 0),
		"Query":        set.AppendQueryAnswer(nil, 0),
		"BatchGetItem": set.AppendBatchAnswer(nil, numbers),
	}
	plain := set.AppendPlain(nil, 0)
	objects := map[int][]byte{}
	for _, size := range []int{dataset.SmallObject, dataset.LargeObject} {
		objects[size] = dataset.AppendObject(nil, size, 0)
	}
	return func(x *fasthttp.RequestCtx) {
		if size, _, ok := dataset.ParseObject(x.Path()); ok {
			h := &x.Response.Header
			h.SetContentType("application/json")
			h.Set("Cache-Control", "public, max-age=86400")
			h.Set("Age", "10")
			h.Set("Cache-Status", "kasoku; hit; ttl=86390")
			h.Set("X-Request-Id", "0123456789ABCDEF0123456789ABCDEF")
			x.Response.SetBodyRaw(objects[size])
			return
		}
		if string(x.Path()) == "/GetItemJSON" {
			x.Response.Header.SetContentType("application/json")
			x.Response.SetBodyRaw(plain)
			return
		}
		target := x.Request.Header.Peek("X-Amz-Target")
		if len(target) <= len(dataset.TargetPrefix) {
			x.SetStatusCode(fasthttp.StatusBadRequest)
			return
		}
		answer, ok := answers[string(target[len(dataset.TargetPrefix):])]
		if !ok {
			x.SetStatusCode(fasthttp.StatusBadRequest)
			return
		}
		h := &x.Response.Header
		h.SetContentType("application/x-amz-json-1.0")
		h.Set("Cache-Status", "kasoku; hit; ttl=240")
		h.Set("X-Amz-Crc32", "2745614147")
		h.Set("X-Amzn-Requestid", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF")
		h.Set("X-Request-Id", "0123456789ABCDEF0123456789ABCDEF")
		x.Response.SetBodyRaw(answer)
	}
}
