package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestLocalPage runs all commands of docs/local-dynamodb.md in their order, with an export of
// 100,000 items.
func TestLocalPage(t *testing.T) {
	items := race.Part(100_000)
	page := pages(t)["local-dynamodb.md"]
	t.Chdir(t.TempDir())
	makeExport(t, items)
	var served chan int
	signals := make(chan os.Signal, 1)
	var flags map[string][]string // that replace the standard addresses, by command
	for _, m := range regexp.MustCompile(`(?m)^    kasoku (.*)$`).FindAllStringSubmatch(page, -1) {
		args := words(t, m[1])
		if args[0] == "serve" {
			started := make(chan *Node)
			served = make(chan int, 1)
			go func() {
				var errs strings.Builder
				env := Environment{Stdout: &errs, Stderr: &errs, Signals: signals, Lookup: os.LookupEnv, Started: func(n *Node) { started <- n }}
				served <- Main(append(args, "--port", "0"), env)
			}()
			n := <-started
			store, admin := []string{"--endpoint", "http://" + n.ServiceAddr("dynamodb").String()}, []string{"--admin", "http://" + n.AdminAddr().String()}
			flags = map[string][]string{"store load": store, "store dump": store, "store snapshot": admin, "store restore": admin,
				"fault add": admin, "fault list": admin, "fault clear": admin}
			continue
		}
		command := strings.Join(args[:2], " ")
		var out strings.Builder
		if code := Main(append(args, flags[command]...), Environment{Stdout: &out, Stderr: &out, Lookup: os.LookupEnv}); code != codeOK {
			t.Fatalf("%s: exit code %d: %s", m[1], code, &out)
		}
		if want := fmt.Sprintf("%d items", items); strings.HasPrefix(command, "store l") && !strings.Contains(out.String(), want) ||
			command == "store dump" && !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %s", m[1], &out)
		}
	}
	signals <- syscall.SIGTERM
	if code := <-served; code != codeOK {
		t.Errorf("serve: exit code %d", code)
	}
}

// makeExport makes the files that the page's commands need: Orders.json, and an export of n items.
func makeExport(t *testing.T, n int) {
	t.Helper()
	r := run(t, head+"  store: {type: dynamodb, listen: 127.0.0.1:0, origin: embedded:memory, auth: {mode: none}}\n")
	r.ask("store", "CreateTable", strings.Replace(createT, `"tab"`, `"Orders"`, 1))
	for i := 0; i < n; i += 25 {
		var puts []string
		for j := range 25 {
			puts = append(puts, fmt.Sprintf(`{"PutRequest":{"Item":{"id":{"S":"%d"},"total":{"N":"%d"}}}}`, i+j, j))
		}
		r.ask("store", "BatchWriteItem", `{"RequestItems":{"Orders":[`+strings.Join(puts, ",")+`]}}`)
	}
	var out strings.Builder
	code := Main([]string{"store", "dump", "--table", "Orders", "export", "--endpoint", "http://" + r.ServiceAddr("store").String()},
		Environment{Stdout: &out, Stderr: &out, Lookup: os.LookupEnv})
	if code != codeOK {
		t.Fatal(out.String())
	}
	description, err := os.ReadFile("export/Orders.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("Orders.json", description, 0o600); err != nil {
		t.Fatal(err)
	}
}
