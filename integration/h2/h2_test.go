// Package h2 tests the server of HTTP/2 with programs that others have written: h2spec, which
// checks conformance to RFC 9113 and RFC 7541, and the client of gRPC.
package h2

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// serve runs a server with TLS, and returns the port.
func serve(t *testing.T, streaming bool, handler edge.HandlerFunc) (port int) {
	t.Helper()
	dir := t.TempDir()
	cert, key := certs.SelfSigned(t, 1)
	certFile, keyFile := write(t, dir, "cert.pem", cert), write(t, dir, "key.pem", key)
	reloader, err := edge.NewCertReloader(certFile, keyFile, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := edge.Listen(edge.Config{Name: "test", Listen: "127.0.0.1:0", TLS: reloader.Config(), Streaming: streaming, Handler: handler})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	_, err = fmt.Sscanf(s.Addr().String(), "127.0.0.1:%d", &port)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestSpec runs h2spec, with its optional tests, against both kinds of servers.
func TestSpec(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		passed, err := h2spec.Run(&config.Config{
			Host: "127.0.0.1", Path: "/", Timeout: 5 * time.Second, MaxHeaderLen: 4000, Strict: true, TLS: true, Insecure: true,
			Port: serve(t, streaming, func(x *edge.Exchange) {
				_, _ = x.ReadBody(1 << 20)
				x.Reply.Status = http.StatusOK
				x.Reply.Body = []byte(strings.Repeat("x", 100))
			}),
		})
		if err != nil || !passed {
			t.Errorf("streaming %v: passed %v, error %v", streaming, passed, err)
		}
	}
}

// echoMessages answers a call of gRPC with the messages that it consists of.
func echoMessages(x *edge.Exchange) {
	x.Reply.Status = http.StatusOK
	x.Reply.Field("Content-Type", "application/grpc")
	o, err := x.Stream(-1)
	if err != nil {
		return
	}
	code := "0"
	if string(x.Request.Path) == "/test.Echo/Fail" {
		code = "7"
	} else if _, err := io.Copy(o, x.BodyReader()); err != nil {
		code = "13"
	}
	o.Trailer(http1.FieldsOf("Grpc-Status", code, "Grpc-Message", "text"))
	_ = o.Close()
}

// TestGRPC makes unary calls and bidirectional streams, whose messages are answered as they
// arrive.
func TestGRPC(t *testing.T) {
	port := serve(t, true, echoMessages)
	cc, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", port), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, size := range []int{0, 10, 200_000, 3_000_000} {
		sent, got := wrapperspb.String(strings.Repeat("a", size)), &wrapperspb.StringValue{}
		if err := cc.Invoke(ctx, "/test.Echo/Echo", sent, got); err != nil || got.Value != sent.Value {
			t.Errorf("a message of %d bytes: got %d, %v", size, len(got.Value), err)
		}
	}
	if err := cc.Invoke(ctx, "/test.Echo/Fail", wrapperspb.String(""), &wrapperspb.StringValue{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a failed call: %v", err)
	}
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/test.Echo/Stream")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		sent, got := wrapperspb.String(fmt.Sprint(i)), &wrapperspb.StringValue{}
		if err := stream.SendMsg(sent); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(got); err != nil || got.Value != sent.Value {
			t.Fatalf("got %q, %v; want %q", got.Value, err, sent.Value)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); err != io.EOF {
		t.Errorf("the stream ended with %v", err)
	}
}

func write(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
