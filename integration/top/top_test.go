//go:build unix

package top

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"

	"github.com/kasoku/kasoku/integration/harness"
)

var rewrite = flag.Bool("rewrite", false, "write docs/images/top.svg")

func TestMain(m *testing.M) { harness.Main(m) }

// shop is a Kasoku with a store in memory, service orders, and a web site, service site.
type shop struct {
	t             *testing.T
	node          *harness.Node
	store, web    string
	binary        string
	client        *http.Client
	ctx           context.Context
	requesting    sync.WaitGroup
	stopRequests  context.CancelFunc
	requestsPause time.Duration
}

// tables are the tables of the store, each with the number of its items that are read. More items
// have fewer hits.
var tables = []struct {
	name  string
	items int
}{{"users", 40}, {"sessions", 400}, {"carts", 2000}}

func newShop(t *testing.T) *shop {
	t.Helper()
	origin := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprintln(w, strings.Repeat("page ", 100))
	}))
	var ports []string
	for range 2 {
		port, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	// Without the race detector, which reports a race of the drawing library's reader at its end.
	binary, err := harness.PlainBinary("")
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, binary: binary, store: "http://" + ports[0], web: "http://" + ports[1], client: &http.Client{Transport: &http.Transport{}}, requestsPause: time.Millisecond}
	s.node = harness.Start(t, harness.Options{Type: "none", Top: []string{"services:",
		"  orders: {type: dynamodb, listen: \"" + ports[0] + "\", origin: \"embedded:memory\", auth: {mode: none}, tables: {carts: {item_ttl: 2s}}}",
		"  site: {type: http, listen: \"" + ports[1] + "\", origins: [\"" + origin + "\"]}",
	}})
	for _, table := range tables {
		s.do("CreateTable", `{"TableName":"`+table.name+`","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`)
		s.do("PutItem", `{"TableName":"`+table.name+`","Item":{"id":{"S":"1"}}}`)
	}
	for range 100 { // so that the first table has the most requests from the first screen on
		s.do("GetItem", `{"TableName":"`+tables[0].name+`","Key":{"id":{"S":"1"}}}`)
	}
	var ctx context.Context
	ctx, s.stopRequests = context.WithCancel(t.Context())
	s.ctx = ctx
	t.Cleanup(s.stop)
	for i, table := range tables {
		s.requesting.Go(func() { s.request(i, table.name, table.items) })
	}
	return s
}

// do sends a request to the store, which must succeed.
func (s *shop) do(operation, body string) {
	if _, err := harness.MustCall(s.t.Context(), s.client, s.store, operation, body); err != nil {
		s.t.Fatal(err)
	}
}

// request reads items, and a page of the site, until stop is called. Table i has fewer requests than
// the ones before it.
func (s *shop) request(i int, table string, items int) {
	tick := time.NewTicker(time.Duration(i+1) * s.requestsPause)
	defer tick.Stop()
	for n := 0; ; n++ {
		body := fmt.Sprintf(`{"TableName":%q,"Key":{"id":{"S":"%d"}}}`, table, n*7919%items)
		_, err := harness.MustCall(s.ctx, s.client, s.store, "GetItem", body)
		if err == nil && n%50 == 0 {
			var resp *http.Response
			if resp, err = s.client.Get(s.web + "/"); err == nil {
				resp.Body.Close()
			}
		}
		if err != nil && s.ctx.Err() == nil {
			s.t.Error(err)
			return
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// stop ends the requests.
func (s *shop) stop() {
	s.stopRequests()
	s.requesting.Wait()
}

// top opens kasoku top, polling every 200 ms.
func (s *shop) top(w, h int, variables []string, args ...string) *screen {
	s.t.Helper()
	return open(s.t, w, h, variables, s.binary, append([]string{"top", "--admin", s.node.Admin, "--interval", "200ms"}, args...)...)
}

// headings matches the headings of the parts of the overview.
var headings = regexp.MustCompile(`(SERVICE +TYPE +REQ/S +HIT% +HIT P50 +P99 +ORIG P50 +P99 +CONNS +BREAKER|TABLE +SERVICE +vREQ/S +HIT% +HIT P50 +P99 +ORIG P50 +P99 +SENT/S +LAG)`)

// TestTop reads the overview, opens a table, explains an item, pauses, resizes the window and quits,
// which restores the terminal.
func TestTop(t *testing.T) {
	shop := newShop(t)
	s := open(t, 100, 30, nil, "sh", "-c", `stty -g; "$0" top --admin "$1" --interval 200ms; echo "code $?"; stty -g`, shop.binary, shop.node.Admin)
	s.shows("SERVICE", "  orders ", "  site ", "TABLE", "> users ", "  sessions ", "  carts ", " requests/s  hit 9", "last 0.2s", "q quit")
	if mode := s.vt.Mode(); mode&vt10x.ModeAltScreen == 0 || mode&vt10x.ModeHide == 0 {
		t.Errorf("the mode is %b", mode)
	}
	s.press("\r")
	s.shows("table users of service orders", "DECISION", "PER SECOND", "hit-", "TIMES", "origin", "sent ", "esc back")
	s.press("e")
	s.shows("explain for orders: GetItem users")
	s.press("id=1\r")
	s.shows("GetItem users id=1: hit", "operation", "key", "entry")
	s.press("\x1b")
	s.shows("table users of service orders")
	s.press("\x1b")
	s.shows("SERVICE")
	s.press("j")
	s.shows("> sessions ")
	s.press("\x1b[B") // down
	s.shows("> carts ")
	s.press("S")
	s.shows("^REQ/S")
	s.press("?")
	s.shows("Keys", "reverse the order")
	s.press("\x1b")
	s.resize(80, 24)
	s.shows("TABLE", "r refresh  ? help  q quit")
	lines := strings.Split(s.String(), "\n")
	if len(lines) != 24 || !strings.HasPrefix(lines[0], "kasoku ") || !strings.HasPrefix(lines[23], "enter open") || !strings.HasSuffix(lines[0], " UTC") {
		t.Errorf("the screen of 80x24 is\n%s", s)
	}
	s.press("p")
	s.shows("PAUSED")
	s.press("p")
	harness.Await(t, "the end of the pause", time.Minute, func() bool { return !strings.Contains(s.String(), "PAUSED") })
	s.press("q")
	s.shows("code 0")
	s.end()
	if mode := s.vt.Mode(); mode&(vt10x.ModeAltScreen|vt10x.ModeHide) != 0 {
		t.Errorf("at the end the mode is %b", mode)
	}
	// The first line and the last one are the settings of the terminal.
	if m := regexp.MustCompile(`(?s)^(\S+)\r\n.*code 0\r\n(\S+)\r\n$`).FindStringSubmatch(s.output()); m == nil || m[1] != m[2] {
		t.Errorf("the settings of the terminal are %q", m)
	}
}

// TestChangesOnly checks that a change of one word does not draw the whole screen.
func TestChangesOnly(t *testing.T) {
	shop := newShop(t)
	s := shop.top(100, 30, nil)
	s.shows("> users ", "last 0.2s")
	shop.stop()
	harness.Await(t, "no requests", time.Minute, func() bool { return strings.Contains(s.String(), "\n0 requests/s") })
	s.press("p")
	s.shows("PAUSED")
	before := len(s.output())
	s.press("j")
	s.shows("> sessions ")
	if n := len(s.output()) - before; n == 0 || n > 800 {
		t.Errorf("%d bytes select another row of a screen of 3000 cells", n)
	}
}

// TestPlain checks the output without colours, on a terminal without a cursor, and in a pipe.
func TestPlain(t *testing.T) {
	shop := newShop(t)
	color := regexp.MustCompile(`\x1b\[[0-9;]*3[0-9][;m]`)
	s := shop.top(80, 24, []string{"NO_COLOR=yes"}, "--admin", "http://127.0.0.1:1")
	s.shows("> users ", "no answer: ")
	if color.MatchString(s.output()) {
		t.Errorf("there are colours: %q", s.output())
	}
	s = shop.top(80, 24, nil, "--admin", "http://127.0.0.1:1")
	s.shows("> users ", "no answer: ")
	if !color.MatchString(s.output()) {
		t.Errorf("there are no colours: %q", s.output())
	}
	s = shop.top(80, 24, []string{"TERM=dumb"})
	harness.Await(t, "two pages", time.Minute, func() bool { return strings.Count(s.output(), "  users ") > 1 })
	s.press("\x03")
	s.end()
	if text := s.output(); strings.Contains(text, "\x1b") || !strings.Contains(text, "SERVICE") {
		t.Errorf("got %q", text)
	}
	out, err := exec.Command(shop.binary, "top", "--admin", shop.node.Admin).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "kasoku top --once") {
		t.Errorf("in a pipe: %v, %s", err, out)
	}
	out, err = exec.Command(shop.binary, "top", "--once", "--interval", "200ms", "--admin", shop.node.Admin).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "  users ") {
		t.Errorf("--once: %v, %s", err, out)
	}
}

// TestEnd checks that the program ends when it is signalled, with the terminal restored, and when its
// terminal is closed.
func TestEnd(t *testing.T) {
	shop := newShop(t)
	s := shop.top(80, 24, nil)
	s.shows("> users ")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.end()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 || s.vt.Mode()&(vt10x.ModeAltScreen|vt10x.ModeHide) != 0 {
		t.Errorf("exit code %d, mode %b", code, s.vt.Mode())
	}
	s = shop.top(80, 24, nil)
	s.shows("> users ")
	s.pty.Close()
	s.end()
}

// TestPicture compares the headings on the screen with those in docs/images/top.svg. With -rewrite
// it writes the picture.
func TestPicture(t *testing.T) {
	file := filepath.Join(harness.Root(), "docs", "images", "top.svg")
	shop := newShop(t)
	s := shop.top(112, 13, nil)
	s.shows("> users ", "last 0.2s")
	if *rewrite {
		s = open(t, 112, 13, nil, shop.binary, "top", "--admin", shop.node.Admin)
		s.shows("> users ", "last 2.0s")
		if err := os.WriteFile(file, []byte(s.picture()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, want := headings.FindAllString(s.String(), -1), headings.FindAllString(string(svg), -1)
	if len(got) != 2 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the screen has the headings\n%s\nthe picture\n%s\ngo test ./top -run TestPicture -rewrite", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
