package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// TestMissInDocs runs the commands of docs/observability.md that find out why a request was a miss:
// the log prints one that happens while it runs, and explain has the reason before and after.
func TestMissInDocs(t *testing.T) {
	_, section, _ := strings.Cut(pages(t)["observability.md"], "\n## Why was this a miss?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var commands [][]string
	for line := range strings.Lines(section) {
		if args, ok := strings.CutPrefix(line, "    kasoku "); ok {
			commands = append(commands, words(t, args))
		}
	}
	if len(commands) != 2 || commands[0][0] != "log" || commands[1][0] != "explain" {
		t.Fatalf("the section has the commands %q", commands)
	}
	r := topNode(t)
	address := "http://" + r.AdminAddr().String()
	explain := func(want ...string) {
		t.Helper()
		code, out, errs := command(t, append(commands[1], "--admin", address))
		for _, w := range want {
			if code != codeOK || !strings.Contains(out, w) {
				t.Errorf("explain: code %d, %s%s; want %s", code, out, errs, w)
			}
		}
	}
	explain("GetItem users: miss", "never filled, or evicted")
	log, keys := startLog(address, commands[0][1:]...), 0
	await.Until(t, func() bool {
		keys++
		r.ask("orders", "GetItem", fmt.Sprintf(`{"TableName":"users","Key":{"id":{"S":"alice"}},"ExpressionAttributeNames":{"#%d":"a"}}`, keys))
		r.ask("orders", "GetItem", fmt.Sprintf(`{"TableName":"users","Key":{"id":{"S":"new %d"}}}`, keys))
		return strings.Contains(log.out.String(), " users ")
	})
	if code := <-log.code; code != codeOK || !strings.Contains(log.out.String(), " miss ") {
		t.Errorf("log: code %d, %s%s", code, log.out.String(), log.errs.String())
	}
	r.ask("orders", "GetItem", `{"TableName":"users","Key":{"id":{"S":"alice"}}}`)
	explain("GetItem users: hit-negative")
}
