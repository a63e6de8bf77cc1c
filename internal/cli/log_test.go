package cli

import (
	"encoding/json"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry/live"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

const memoryOrders = `  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}}` + "\n"

// logging is a running kasoku log.
type logging struct {
	out, errs lockedText
	signals   chan os.Signal
	code      chan int
}

func startLog(address string, args ...string) *logging {
	l := &logging{signals: make(chan os.Signal, 1), code: make(chan int, 1)}
	env := Environment{Stdout: &l.out, Stderr: &l.errs, Signals: l.signals, Lookup: func(string) (string, bool) { return "", false }}
	go func() { l.code <- Main(append([]string{"log", "--admin", address}, args...), env) }()
	return l
}

// until sends requests with f until the output has a text.
func (l *logging) until(t *testing.T, text string, f func()) {
	t.Helper()
	await.Until(t, func() bool {
		f()
		return strings.Contains(l.out.String(), text)
	})
}

func TestLog(t *testing.T) {
	r := run(t, head+memoryOrders)
	address := "http://" + r.AdminAddr().String()
	list := func() { _, _ = r.api("orders", "ListTables", `{}`) }
	get := func() { _, _ = r.api("orders", "GetItem", `{"TableName":"none","Key":{"id":{"S":"1"}}}`) }

	all := startLog(address)
	all.until(t, "ListTables", list)
	all.until(t, "  error=ResourceNotFoundException  ", get)
	if got := all.out.String(); !strings.Contains(got, "  orders     GetItem        none                     400 ") || !strings.Contains(got, "  request_id=") {
		t.Errorf("got %s", got)
	}
	all.signals <- os.Interrupt
	if code := <-all.code; code != codeOK || all.errs.String() != "" {
		t.Errorf("interrupted: code %d, %s", code, all.errs.String())
	}

	some := startLog(address, "-q", "table=none status>=400", "-n", "1", "--json")
	some.until(t, "}\n", func() { list(); get() })
	var record struct{ Operation, Table, Error string }
	if err := json.Unmarshal([]byte(some.out.String()), &record); err != nil || record.Operation != "GetItem" || record.Table != "none" || record.Error != "ResourceNotFoundException" {
		t.Errorf("got %+v, %v", record, err)
	}
	if code := <-some.code; code != codeOK {
		t.Errorf("code %d, %s", code, some.errs.String())
	}
}

func TestLogErrors(t *testing.T) {
	r := run(t, head+memoryOrders)
	f := func(address string, want string, args ...string) {
		t.Helper()
		l := startLog(address, args...)
		if code := <-l.code; code == codeOK || !strings.Contains(l.errs.String(), want) {
			t.Errorf("%q: code %d, %s; want %s", args, code, l.errs.String(), want)
		}
	}
	address := "http://" + r.AdminAddr().String()
	f(address, `there is no field "tabel" (did you mean "table"?)`, "-q", "tabel=a", "--follow")
	f(address, "--number must be positive", "--number=-1")
	f("http://127.0.0.1:1", "no answer from the admin API")
}

// Records of a node of a cluster have its name.
// The log has the node's name, which is the host's if the configuration has none.
func TestLogNode(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for option, name := range map[string]string{"node: a, ": "a", "": host} {
		r := run(t, "cluster: {name: log, "+option+"listen: \"127.0.0.1:0\"}\n"+head+daxOrders(t.TempDir(), ""))
		l := startLog("http://"+r.AdminAddr().String(), "-n", "1", "--json")
		l.until(t, `"service":"orders"`, func() { r.get("orders") })
		if code := <-l.code; code != codeOK {
			t.Errorf("code %d, %s", code, l.errs.String())
		}
		if got := l.out.String(); !strings.Contains(got, `"node":"`+name+`"`) {
			t.Errorf("with %q: no node %q in %s", option, name, got)
		}
	}
}

// The filters of the documentation's examples are valid.
func TestLogExamples(t *testing.T) {
	text := append(readFile(t, "../../docs/cli.md"), readFile(t, "../../docs/operations.md")...)
	examples := regexp.MustCompile(`kasoku log [^\n]*-q '([^']*)'`).FindAllSubmatch(text, -1)
	if len(examples) < 4 {
		t.Errorf("%d examples", len(examples))
	}
	for _, m := range examples {
		if _, err := live.Parse(string(m[1])); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}

// With --follow, the log continues with the process that is started next at the address.
func TestLogFollow(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	config := strings.Replace(head, "127.0.0.1:0", address, 1) + memoryOrders
	followed, ending := startLog("http://"+address, "--follow"), (*logging)(nil)
	await.Until(t, func() bool { return strings.Contains(followed.errs.String(), "waiting for the next one") })
	t.Run("first", func(t *testing.T) {
		r := run(t, config)
		followed.until(t, "ListTables", func() { _, _ = r.api("orders", "ListTables", `{}`) })
		ending = startLog("http://" + address)
		ending.until(t, "ListTables", func() { _, _ = r.api("orders", "ListTables", `{}`) })
	})
	if code := <-ending.code; code != codeInput || !strings.Contains(ending.errs.String(), "the log ended: Kasoku is stopping") {
		t.Errorf("code %d, %s", code, ending.errs.String())
	}
	r := run(t, config)
	followed.until(t, "GetItem", func() { _, _ = r.api("orders", "GetItem", `{"TableName":"none","Key":{"id":{"S":"1"}}}`) })
	followed.signals <- os.Interrupt
	if code := <-followed.code; code != codeOK || strings.Count(followed.errs.String(), "waiting for the next one") != 2 {
		t.Errorf("code %d, %s", code, followed.errs.String())
	}
}

// Text of clients can't affect the terminal.
func TestLogText(t *testing.T) {
	r := logRecord{Service: "site", Operation: "GET", Path: "/a\x1b[31m b", Status: 200, Decision: "hit", Duration: 1250, Error: "é"}
	want := `00:00:00.000  site       GET            "/a\x1b[31m b"           200 hit                  1.25ms  error=é`
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
