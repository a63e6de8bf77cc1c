package cli

import (
	"strings"
	"testing"
)

// TestReloadNamespaces checks that a reload does not change whether clients share their tables
// while the store is open, since its contents are different then.
func TestReloadNamespaces(t *testing.T) {
	for _, origin := range []string{"embedded:memory", "embedded:data"} {
		to := func(service string) string {
			return head + `  db: {type: dynamodb, listen: "127.0.0.1:0", origin: ` + strings.ReplaceAll(service, "ORIGIN", origin) + "}\n"
		}
		shared, byKey := to("ORIGIN, auth: {mode: none}"), to("ORIGIN, auth: {mode: none}, namespaces: key")
		for _, f := range []struct{ name, from, into, uses string }{
			{"from shared", shared, byKey, "hit"},
			{"from key", byKey, shared, "bypass"},
		} {
			t.Run(origin+" "+f.name, func(t *testing.T) {
				r := run(t, f.from)
				r.ask("db", "CreateTable", createT)
				r.ask("db", "PutItem", `{"TableName":"tab","Item":{"id":{"S":"1"}}}`)
				if err := r.reload(f.into); err == nil || !strings.Contains(err.Error(), "a change of namespaces needs a restart") {
					t.Errorf("got %v", err)
				}
				r.ask("db", "GetItem", getT)
				if how, item := r.ask("db", "GetItem", getT); !strings.Contains(how, f.uses) || item != `{"Item":{"id":{"S":"1"}}}` {
					t.Errorf("after the refused reload: got %s %s", how, item)
				}
				r.mustReload(strings.Replace(f.from, "auth:", "memory: 1MiB, auth:", 1))
				// Another place may have another setting.
				r.mustReload(strings.Replace(f.into, origin, "embedded:other", 1))
				if _, answer := r.ask("db", "ListTables", `{}`); answer != `{"TableNames":[]}` {
					t.Errorf("the other store has %s", answer)
				}
				r.mustReload(f.into)
			})
		}
	}
}
