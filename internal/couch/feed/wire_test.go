package feed

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/kasoku/kasoku/internal/edge"
)

// TestStop checks over a real connection that feeds end in order when the server stops, with
// the client's position.
func TestStop(t *testing.T) {
	n := newNode()
	n.put("a")
	feeds := New(Config{Ask: n.ask})
	defer feeds.Close()
	server, err := edge.Listen(edge.Config{Name: "feed", Listen: "127.0.0.1:0", Streaming: true, Handler: edge.HandlerFunc(func(x *edge.Exchange) {
		if !feeds.Serve(x, Client{DB: "d b", Nodes: []int{1}, MayRead: func(context.Context) bool { return true }}) {
			x.Reply.Status = http.StatusTeapot
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	url := "http://" + server.Addr().String() + "/d%20b/_changes?feed="
	var all []*http.Response
	for _, form := range []string{"continuous", "longpoll", "eventsource"} {
		resp, err := http.Get(url + form + "&since=now&heartbeat=60000")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		all = append(all, resp)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	end := "\"last_seq\":\"1-1\",\"pending\":0}\n"
	for i, want := range []string{"\n{" + end, "{\"results\":[\n\n\n],\n" + end, "\n"} {
		if text, err := io.ReadAll(all[i].Body); err != nil || string(text) != want {
			t.Errorf("got %q, %v; want %q", text, err, want)
		}
	}
}
