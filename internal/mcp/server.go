package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/glob"
)

const (
	// maxMessage is the maximum length of a message of the client. An item has up to 400 KB.
	maxMessage = 4 << 20
	// callTimeout is the timeout of a call, which may send several requests.
	callTimeout = 2 * time.Minute
)

// Store is the store that the tools read and write, such as a transfer.Endpoint.
type Store interface {
	// Call sends an operation of DynamoDB. An error of the store is a
	// *transfer.ServiceError.
	Call(ctx context.Context, operation string, body []byte) ([]byte, error)
}

// Admin is the admin API of the running Kasoku in front of the store.
type Admin interface {
	// Explain describes how a request of DynamoDB would be answered.
	Explain(ctx context.Context, operation string, body json.RawMessage) (admin.Explanation, error)
	// Store acts on the snapshots of the embedded store: "snapshot", "restore" or "list".
	Store(ctx context.Context, action, snapshot string) (admin.StoreContents, error)
	// Report returns the state of all services.
	Report(ctx context.Context) (admin.ReportJSON, error)
}

// Options are the settings of a server.
type Options struct {
	Version string
	Store   Store
	Admin   Admin    // nil: its tools are not offered
	Tables  []string // patterns of the tables that are visible; empty: all
	Write   bool     // offer the tools that change something
	Log     *slog.Logger
}

// Server offers the tools to clients.
type Server struct {
	o   Options
	sdk *sdk.Server
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{o: o}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "kasoku", Title: "Kasoku", Version: o.Version}, &sdk.ServerOptions{
		Instructions: s.instructions(),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	for _, t := range tools() {
		if s.offers(t) {
			s.sdk.AddTool(t.description(&o), s.handler(t))
		}
	}
	return s
}

// Run serves the client that writes lines to in and reads lines from out. It returns when in
// ends or ctx is cancelled.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.Serve(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}, MaxLineLength: maxMessage})
}

// Serve serves the client behind a transport. It is called once.
func (s *Server) Serve(ctx context.Context, t sdk.Transport) error {
	// The SDK waits for calls that run when ctx is cancelled, and does not cancel them.
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(call context.Context, method string, r sdk.Request) (sdk.Result, error) {
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return next(call, method, r)
		}
	})
	return s.sdk.Run(ctx, transport{t})
}

// unclosed is a writer that the end of a connection does not close.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }

func (s *Server) instructions() string {
	var b strings.Builder
	b.WriteString("Tables and items of a DynamoDB-compatible store. Attribute values are DynamoDB JSON, such as {\"S\":\"a\"} or {\"N\":\"1\"}; " +
		"arguments may also have plain JSON. Results are limited: continue with the key that a result ends with.")
	if s.o.Admin != nil {
		b.WriteString(" A caching accelerator, Kasoku, is in front of it: explain and report are about its cache.")
	}
	if !s.o.Write {
		b.WriteString(" This server can't change anything; put_item only reports the effect of a write.")
	}
	if len(s.o.Tables) > 0 {
		b.WriteString(" Only these tables are visible: " + strings.Join(s.o.Tables, ", ") + ".")
	}
	return b.String()
}

// offers reports whether the options allow a tool.
func (s *Server) offers(t *tool) bool {
	switch {
	case t.changes && !s.o.Write:
		return false
	case t.admin && s.o.Admin == nil:
		return false
	}
	return !t.whole || len(s.o.Tables) == 0
}

// handler returns the function that the SDK calls for a tool.
func (s *Server) handler(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		args, err := t.read(r.Params.Arguments)
		if err == nil {
			err = s.checkTable(args)
		}
		if err != nil {
			return failure(err), nil
		}
		answer, err := t.run(ctx, s, t, args)
		if err != nil {
			return failure(err), nil
		}
		return answer.result(), nil
	}
}

// visible reports whether a table matches the patterns.
func (s *Server) visible(name string) bool {
	for _, pattern := range s.o.Tables {
		if glob.Match(pattern, name) {
			return true
		}
	}
	return len(s.o.Tables) == 0
}

// checkTable returns an error if the table of a call is not visible.
func (s *Server) checkTable(args arguments) error {
	if named, ok := args["table_name"]; ok {
		return s.checkName(text(named))
	}
	return nil
}

// checkName returns an error if a table, given as a name or an ARN, is not visible.
func (s *Server) checkName(named string) error {
	if len(s.o.Tables) == 0 {
		return nil
	}
	if name, ok := shape.TableName(named); ok && s.visible(name) {
		return nil
	}
	return fmt.Errorf("table %q is not visible: this server was started for tables that match %s", named, strings.Join(s.o.Tables, ", "))
}
