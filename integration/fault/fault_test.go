package fault

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestKinds checks for each kind what the origin executes and what the client receives.
func TestKinds(t *testing.T) {
	f := func(kind Kind, executes bool, want string) {
		t.Helper()
		var executed atomic.Int64
		in := &Injector{}
		in.Set(Plan{OneIn: map[Kind]int{kind: 1}, LateBy: time.Millisecond, DelayFor: time.Millisecond, Only: []string{"PutItem"}})
		s := httptest.NewServer(in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			executed.Add(1)
			io.Copy(w, r.Body)
		})))
		defer s.Close()
		if got := outcome(s, "PutItem"); !strings.Contains(got, want) {
			t.Errorf("%s: the client got %q, expected %q", kind, got, want)
		}
		in.Clear()
		if (executed.Load() == 1) != executes {
			t.Errorf("%s: the request was executed %d times", kind, executed.Load())
		}
		if in.Count(kind) != 1 {
			t.Errorf("%s: counted %d times, want 1", kind, in.Count(kind))
		}
		if got := outcome(s, "GetItem"); got != "200 request" {
			t.Errorf("%s: another operation got %q", kind, got)
		}
	}
	f(Delay, true, "200 request")
	f(Throttle, false, "ProvisionedThroughputExceeded")
	f(ErrorBefore, false, "500")
	f(ErrorAfter, true, "500")
	f(Unavailable, false, "503")
	f(Garbage, true, "200 <html>")
	f(ResetBefore, false, "no answer")
	f(ResetAfter, true, "no answer")
	f(ResetBody, true, "200, cut")
	f(Late, true, "no answer")
}

// outcome returns the result of one request as the client sees it.
func outcome(s *httptest.Server, operation string) string {
	req, err := http.NewRequest("POST", s.URL, strings.NewReader("request"))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "no answer: " + err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.Status[:3] + ", cut"
	}
	return resp.Status[:3] + " " + string(body)
}

func TestHold(t *testing.T) {
	in := &Injector{}
	s := httptest.NewServer(in.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })))
	defer s.Close()
	release := in.Hold()
	answered := make(chan string)
	go func() { answered <- outcome(s, "GetItem") }()
	select {
	case got := <-answered:
		t.Fatalf("answered %q while held", got)
	default:
	}
	release()
	if got := <-answered; got != "200 request" {
		t.Fatalf("answered %q", got)
	}
}

func TestProxy(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Authorization")+" "+r.Host+" ")
		io.Copy(w, r.Body)
	}))
	defer origin.Close()
	proxy, err := Proxy(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(proxy)
	defer s.Close()
	if got, want := outcome(s, "GetItem"), "200  "+s.Listener.Addr().String()+" request"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
}

// TestSteadyPlan checks that a steady plan injects each kind once in every n requests that it
// applies to, and in no other requests.
func TestSteadyPlan(t *testing.T) {
	in := &Injector{}
	plan := &Plan{Steady: true, OneIn: map[Kind]int{Throttle: 5, Garbage: 5, Late: 10}, Only: []string{"PutItem"}}
	injected := map[Kind]int{}
	for range 20 {
		injected[in.pick(plan, "PutItem")]++
		if kind := in.pick(plan, "GetItem"); kind != None {
			t.Errorf("%s was injected into an operation that the plan excludes", kind)
		}
	}
	if injected[Throttle] != 4 || injected[Garbage] != 4 || injected[Late] != 2 || injected[None] != 10 {
		t.Errorf("faults of 20 requests: got %v", injected)
	}
}
