package kasokutest

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// endpoint is a listener for clients that use the network.
type endpoint struct {
	url    string
	server *http.Server
	done   chan struct{}
}

// Endpoint returns the URL of the store for clients that use the network, for example other
// processes: http://127.0.0.1 with a port. The first call opens the listener.
func (s *Store) Endpoint() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endpoint != nil {
		return s.endpoint.url, nil
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	e := &endpoint{
		url:    "http://" + ln.Addr().String(),
		server: &http.Server{Handler: handler{transport{s.store}}, ReadHeaderTimeout: 10 * time.Second},
		done:   make(chan struct{}),
	}
	go func() {
		defer close(e.done)
		_ = e.server.Serve(ln) // until close
	}()
	s.endpoint = e
	return e.url, nil
}

// close closes the listener and all connections.
func (e *endpoint) close() {
	_ = e.server.Close()
	<-e.done
}

// handler answers requests from the network.
type handler struct{ transport }

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, err := h.RoundTrip(r)
	if errors.Is(err, errReset) {
		panic(http.ErrAbortHandler) // closes the connection
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // an error is the client's
}
