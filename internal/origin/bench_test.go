package origin

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// newMinimalServer starts an HTTP server with minimal costs: it answers each read that ends a
// request with the same bytes.
func newMinimalServer(b testing.TB, body []byte) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nx-amz-crc32: 1\r\nx-amzn-RequestId: 1\r\n" +
		"Content-Length: 1000\r\n\r\n")
	answer = append(answer, bytes.Repeat([]byte("x"), 1000)...)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 64<<10)
				n := 0
				for {
					m, err := conn.Read(buf[n:])
					if err != nil {
						return
					}
					n += m
					if !bytes.HasSuffix(buf[:n], body) {
						continue
					}
					n = 0
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

var benchBody = []byte(`{"TableName":"orders","Item":{"id":{"S":"1234567890"},"v":{"N":"42"},"text":{"S":"the quick brown fox"}}}`)

// BenchmarkDo measures a request on an idle connection, for comparison with
// BenchmarkBareClient, which uses only http.Client.
func BenchmarkDo(b *testing.B) {
	b.Run("serial", func(b *testing.B) { benchmarkDo(b, Config{}, false) })
	b.Run("serial-bare-policies", func(b *testing.B) {
		benchmarkDo(b, Config{Breaker: Breaker{Disabled: true}, Concurrency: Concurrency{Disabled: true}}, false)
	})
	b.Run("parallel", func(b *testing.B) { benchmarkDo(b, Config{}, true) })
}

func benchmarkDo(b *testing.B, cfg Config, parallel bool) {
	cfg.URL = newMinimalServer(b, benchBody)
	c, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	r := &Request{Method: "POST", Path: "/", Body: benchBody, Header: http1.FieldsOf(
		"Content-Type", "application/x-amz-json-1.0", "X-Amz-Target", "DynamoDB_20120810.PutItem")}
	run(b, parallel, func() error {
		_, err := c.Do(b.Context(), r)
		return err
	})
}

func BenchmarkBareClient(b *testing.B) {
	b.Run("serial", func(b *testing.B) { benchmarkBare(b, false) })
	b.Run("parallel", func(b *testing.B) { benchmarkBare(b, true) })
}

func benchmarkBare(b *testing.B, parallel bool) {
	url := newMinimalServer(b, benchBody)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	defer client.CloseIdleConnections()
	run(b, parallel, func() error {
		req, err := http.NewRequestWithContext(b.Context(), "POST", url, bytes.NewReader(benchBody))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	})
}

func run(b *testing.B, parallel bool, f func() error) {
	b.ReportAllocs()
	if !parallel {
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := f(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
