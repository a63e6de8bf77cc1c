package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/advice"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
	"github.com/kasoku/kasoku/internal/telemetry/live"
)

// Config describes the admin server.
type Config struct {
	Listen       string
	OpenListener func(network, address string) (net.Listener, error) // nil is net.Listen
	Token        string                                              // "" requires none
	KeysToken    string                                              // also shows keys; "": none does
	Limits       Limits
	Metrics      *telemetry.Registry
	// Overview returns the current state of the process.
	Overview func() Overview
	// Keys returns the keys with the highest counts of each table: recent ones, or since the start.
	Keys    func(recent bool) []TableKeys
	Live    *live.Log            // the records of requests
	Ledger  *ledger.Ledger       // nil if there is none
	History *history.History     // the figures of services over time
	Advice  func() advice.Report // suggested settings; nil for none
	Log     *slog.Logger
}

// Server is the admin listener. Call Listen, then Serve in a goroutine, then Shutdown.
type Server struct {
	ln       *bounded
	http     *http.Server
	overview func() Overview
	live     *live.Log
	ledger   *ledger.Ledger
	history  *history.History
	advice   func() advice.Report
	events   *events
	stopping context.Context // ends when the server is shut down
	log      *slog.Logger
	keys     func(recent bool) []TableKeys
	tokens   atomic.Pointer[tokens] // replaced as a whole by SetTokens
	loopback bool
}

// tokens are the tokens that requests may have.
type tokens struct{ all, keys string }

// maxBody is the maximum size of a request's body: a request to explain may be as large as
// DynamoDB's own limit.
const maxBody = 17 << 20

// Listen opens the listener; requests are answered only after Serve.
func Listen(cfg Config) (*Server, error) {
	network, address := "tcp", cfg.Listen
	if path, ok := strings.CutPrefix(cfg.Listen, "unix:"); ok {
		network, address = "unix", path
	}
	open := cfg.OpenListener
	if open == nil {
		open = net.Listen
	}
	ln, err := open(network, address)
	if err != nil {
		return nil, fmt.Errorf("admin: can't listen on %s: %w", cfg.Listen, err)
	}
	s := &Server{
		ln: newBounded(ln), overview: cfg.Overview, keys: cfg.Keys, live: cfg.Live, ledger: cfg.Ledger, history: cfg.History, advice: cfg.Advice,
		events: newEvents(cfg.Overview), log: cfg.Log, loopback: true,
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		s.loopback = tcp.IP.IsLoopback()
	}
	if s.advice == nil {
		s.advice = none
	}
	s.SetTokens(cfg.Token, cfg.KeysToken)
	s.SetLimits(cfg.Limits)
	s.http = &http.Server{
		Handler:           s.guard(sync.OnceValue(func() http.Handler { return s.routes(cfg.Metrics) })),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	var stop context.CancelFunc
	s.stopping, stop = context.WithCancel(context.Background())
	s.http.RegisterOnShutdown(stop)
	return s, nil
}

// Addr returns the listener's address.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// SetTokens replaces the tokens, beginning with the next request. Without the first none is required;
// a request with the second one is also shown keys, if that is not "".
func (s *Server) SetTokens(token, keys string) { s.tokens.Store(&tokens{token, keys}) }

// SetLimits replaces the limits: of connections for new ones, of idle time beginning with
// the next request.
func (s *Server) SetLimits(l Limits) { s.ln.limits.Store(&l) }

// Serve answers requests until Shutdown.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

// Shutdown closes the listener and waits for requests in flight until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

func (s *Server) routes(metrics *telemetry.Registry) http.Handler {
	mux := http.NewServeMux()
	routes := []struct {
		method, path string
		handler      http.Handler
	}{
		{"GET", "/{$}", http.HandlerFunc(s.dashboard)},
		{"GET", "/metrics", metrics.Handler()},
		{"GET", "/healthz", http.HandlerFunc(s.health)},
		{"GET", "/readyz", http.HandlerFunc(s.ready)},
		{"GET", "/api/v1/report", http.HandlerFunc(s.report)},
		{"GET", "/api/v1/services", http.HandlerFunc(s.services)},
		{"GET", "/api/v1/config", http.HandlerFunc(s.config)},
		{"GET", "/api/v1/events", http.HandlerFunc(s.stream)},
		{"GET", "/api/v1/history", http.HandlerFunc(s.past)},
		{"GET", "/api/v1/log", http.HandlerFunc(s.liveLog)},
		{"GET", "/api/v1/keys", http.HandlerFunc(s.hotKeys)},
		{"GET", "/api/v1/ledger", http.HandlerFunc(s.statement)},
		{"GET", "/api/v1/advice", http.HandlerFunc(s.advise)},
		{"POST", "/api/v1/explain", http.HandlerFunc(s.explain)},
		{"POST", "/api/v1/purge", http.HandlerFunc(s.purge)},
		{"POST", "/api/v1/warm", http.HandlerFunc(s.warm)},
		{"GET", "/api/v1/verify", http.HandlerFunc(s.verification)},
		{"POST", "/api/v1/verify/run", http.HandlerFunc(s.verify)},
		{"POST", "/api/v1/drain", http.HandlerFunc(s.drain)},
		{"GET", "/api/v1/ring", http.HandlerFunc(s.ring)},
		{"GET", "/api/v1/cluster", http.HandlerFunc(s.cluster)},
		{"POST", "/api/v1/cluster/evict", http.HandlerFunc(s.evict)},
	}
	for name := range uiFiles() {
		if name != uiPage { // it is at /
			routes = append(routes, struct {
				method, path string
				handler      http.Handler
			}{"GET", name, http.HandlerFunc(s.uiFile)})
		}
	}
	for _, a := range storeActions {
		routes = append(routes, struct {
			method, path string
			handler      http.Handler
		}{"POST", "/api/v1/store/" + a.name, a.handler(s)})
	}
	for _, a := range faultActions {
		routes = append(routes, struct {
			method, path string
			handler      http.Handler
		}{"POST", a.path, a.handler(s)})
	}
	for _, route := range routes {
		mux.Handle(route.method+" "+route.path, route.handler)
		mux.HandleFunc(route.path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", route.method)
			fail(w, http.StatusMethodNotAllowed, "%s takes %s, not %s", r.URL.Path, route.method, r.Method)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "no such path: %s; / lists all paths", r.URL.Path)
	})
	return mux
}

// guard admits only requests that are allowed to reach the routes, which it asks for at the first
// of them: a start without one is quicker.
//
//   - Requests from web pages in the administrator's browser are refused: a request from
//     another origin by its Sec-Fetch-Site or Origin field, and a form because bodies must
//     be JSON.
//   - A page whose name resolves to this machine (DNS rebinding) has the same origin for
//     the browser. On a loopback listener, Host must therefore be a loopback name.
//   - With a token, everything except the health checks and the files of the dashboard requires it.
func (s *Server) guard(routes func() http.Handler) http.Handler {
	csrf := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if err := csrf.Check(r); err != nil {
			fail(w, http.StatusForbidden, "requests from other web sites are not taken")
			return
		}
		if s.loopback && !localHost(r.Host) {
			fail(w, http.StatusForbidden, "this listener is called localhost or by a loopback address, not %q", r.Host)
			return
		}
		authorized := s.authorized(r)
		if authorized {
			accept(r)
		}
		if !public(r) && !authorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="kasoku"`)
			fail(w, http.StatusUnauthorized, "the token is missing or wrong: send Authorization: Bearer TOKEN")
			return
		}
		if r.Method == http.MethodPost && !isJSON(r.Header.Get("Content-Type")) {
			fail(w, http.StatusUnsupportedMediaType, "send Content-Type: application/json")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		routes().ServeHTTP(w, r)
	})
}

func localHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") || host == "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// authorized reports whether a request has one of the tokens, or needs none.
func (s *Server) authorized(r *http.Request) bool {
	want := s.tokens.Load()
	return want.all == "" || hasToken(r, want.all) || s.showsKeys(r)
}

// showsKeys reports whether a request has the token that shows keys.
func (s *Server) showsKeys(r *http.Request) bool {
	want := s.tokens.Load().keys
	return want != "" && hasToken(r, want)
}

// hasToken compares hashes, so that the time taken reveals nothing, not even the token's
// length.
func hasToken(r *http.Request, want string) bool {
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	a, b := sha256.Sum256([]byte(strings.TrimSpace(got))), sha256.Sum256([]byte(want))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// answer writes v as JSON, indented for humans.
func answer(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		fail(w, http.StatusInternalServerError, "%v", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// Failure is the body of every answer that is not 2xx.
type Failure struct {
	Error string `json:"error"`
}

func fail(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, Failure{fmt.Sprintf(format, args...)})
}

// take decodes the body into v, or answers the request with an error and returns false.
func take(w http.ResponseWriter, r *http.Request, v any) bool {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, err = dec.Token(); err == io.EOF {
			return true
		}
		err = errors.New("something follows the JSON value")
	}
	status := http.StatusBadRequest
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		status = http.StatusRequestEntityTooLarge
	}
	fail(w, status, "the body is invalid: %v", err)
	return false
}
