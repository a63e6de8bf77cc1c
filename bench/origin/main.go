// Command origin answers like DynamoDB for tables of any size, because it computes each item
// from its key. It counts its requests, and can delay its answers. It also serves objects
// for HTTP caches, fresh for a day, and bodies that no cache may store.
//
// GET /counts returns the number of requests by operation as a JSON object; GET
// /delay?for=200ms delays all later answers.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/valyala/fasthttp"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "origin:", err)
		os.Exit(1)
	}
}

func serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Println(listener.Addr())
	o := &origin{counts: map[string]*atomic.Uint64{}}
	for _, name := range []string{"GetItem", "Query", "BatchGetItem", "PutItem", "DescribeTable", "Object", "other"} {
		o.counts[name] = new(atomic.Uint64)
	}
	server := &fasthttp.Server{
		Handler:            o.serve,
		Concurrency:        20_000,
		MaxRequestBodySize: 16 << 20,
		IdleTimeout:        10 * time.Minute,
		ReadTimeout:        10 * time.Minute,
	}
	return server.Serve(listener)
}

type origin struct {
	counts  map[string]*atomic.Uint64
	delay   atomic.Int64
	serial  atomic.Uint64
	numbers sync.Pool // *[]int
}

func (o *origin) serve(x *fasthttp.RequestCtx) {
	if size, ok := dataset.ParsePass(x.Path()); ok {
		o.pass(x, size)
		return
	}
	if x.IsGet() {
		o.control(x)
		return
	}
	name, ok := bytes.CutPrefix(x.Request.Header.Peek("X-Amz-Target"), []byte(dataset.TargetPrefix))
	count := o.counts[string(name)]
	if !ok || count == nil {
		o.counts["other"].Add(1)
		o.answer(x, 400, []byte(`{"__type":"com.amazon.coral.service#UnknownOperationException"}`))
		return
	}
	count.Add(1)
	if d := time.Duration(o.delay.Load()); d > 0 {
		time.Sleep(d)
	}
	body := x.PostBody()
	set, ok := table(body)
	if !ok {
		o.answer(x, 400, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",`+
			`"message":"Requested resource not found"}`))
		return
	}
	o.operate(x, string(name), set, body)
}

func (o *origin) operate(x *fasthttp.RequestCtx, name string, set dataset.Set, body []byte) {
	kept, _ := o.numbers.Get().(*[]int)
	if kept == nil {
		kept = new([]int)
	}
	defer o.numbers.Put(kept)
	numbers := dataset.Keys((*kept)[:0], body)
	*kept = numbers
	out := x.Response.Body()[:0]
	switch {
	case name == "DescribeTable":
		out = set.AppendTableAnswer(out)
	case name == "PutItem":
		out = append(out, "{}"...)
	case len(numbers) == 0:
		o.answer(x, 400, []byte(`{"__type":"com.amazon.coral.validate#ValidationException","message":"no key of this data set"}`))
		return
	case name == "GetItem":
		out = set.AppendGetAnswer(out, numbers[0])
	case name == "Query":
		out = set.AppendQueryAnswer(out, numbers[0])
	case name == "BatchGetItem":
		out = set.AppendBatchAnswer(out, numbers)
	}
	o.answer(x, 200, out)
}

func (o *origin) answer(x *fasthttp.RequestCtx, status int, body []byte) {
	h := &x.Response.Header
	x.SetStatusCode(status)
	h.SetContentType("application/x-amz-json-1.0")
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	h.Set("X-Amzn-Requestid", fmt.Sprintf("%052d", o.serial.Add(1)))
	x.Response.SetBody(body)
}

func (o *origin) control(x *fasthttp.RequestCtx) {
	switch string(x.Path()) {
	case "/counts":
		counts := map[string]uint64{}
		for name, n := range o.counts {
			counts[name] = n.Load()
		}
		body, err := json.Marshal(counts)
		if err != nil {
			x.Error(err.Error(), 500)
			return
		}
		x.Response.SetBody(body)
	case "/delay":
		d, err := time.ParseDuration(string(x.QueryArgs().Peek("for")))
		if err != nil {
			x.Error(err.Error(), 400)
			return
		}
		o.delay.Store(int64(d))
	default:
		o.object(x)
	}
}

// object serves an object as a web server would.
func (o *origin) object(x *fasthttp.RequestCtx) {
	size, k, ok := dataset.ParseObject(x.Path())
	if !ok {
		x.Error("counts, delay and objects are all there is", 404)
		return
	}
	o.counts["Object"].Add(1)
	h := &x.Response.Header
	h.SetContentType("application/json")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, size, k))
	h.Set("Last-Modified", "Sun, 01 Nov 2026 10:00:00 GMT")
	x.Response.SetBody(dataset.AppendObject(nil, size, k))
}

// passed is the body of all answers that no cache may store.
var passed = dataset.AppendObject(nil, dataset.HugeObject, 0)

// pass answers a request for so many bytes that no cache may store. A prepared body keeps the
// origin cheap: it has the same CPUs as the server that is measured.
func (o *origin) pass(x *fasthttp.RequestCtx, size int) {
	o.counts["Object"].Add(1)
	h := &x.Response.Header
	h.SetContentType("application/json")
	h.Set("Cache-Control", "no-store")
	x.Response.SetBodyRaw(passed[:size])
}

// table returns the data set that a request's body names first, with the name copied.
func table(body []byte) (dataset.Set, bool) {
	first, found := len(body), dataset.Set{}
	for _, set := range []dataset.Set{dataset.Even, dataset.Mixed} {
		if at := bytes.Index(body, []byte(`"`+set.Table+`"`)); at >= 0 && at < first {
			first, found = at, set
		}
	}
	return found, found.Table != ""
}
