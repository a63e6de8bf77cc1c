package cli

import (
	"testing"

	"github.com/alecthomas/kong"

	"github.com/kasoku/kasoku/internal/purge"
)

// Each kind of selector has a flag of its name, which is sent and must not be empty.
func TestPurgeKinds(t *testing.T) {
	for _, k := range purge.Kinds() {
		var c commands
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		flag := "--" + k.String()
		if _, err := parser.Parse([]string{"purge", "--service", "site", flag, "x"}); err != nil {
			t.Errorf("%s: %v", flag, err)
		} else if got, want := c.Purge.request().Selector, purge.By(k, "x"); got != want {
			t.Errorf("%s x sends %#v; want %#v", flag, got, want)
		}
		if _, err := parser.Parse([]string{"purge", "--service", "site", flag, ""}); err == nil {
			t.Errorf("an empty %s is accepted", flag)
		}
	}
}
