package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestCommandOf compares parsers of one command with the parser of all: they print the same help and
// the same errors.
func TestCommandOf(t *testing.T) {
	t.Parallel()
	output := func(model any, args []string) (text string) {
		var out bytes.Buffer
		parser := newParser(&Environment{Stdout: &out, Stderr: &out}, model)
		defer func() {
			if e, ok := recover().(exited); ok {
				text = out.String() + string(rune('0'+int(e)))
			}
		}()
		_, err := parser.Parse(args)
		if err == nil {
			return out.String()
		}
		return out.String() + err.Error()
	}
	model := newParser(&Environment{}, &commands{}).Model
	var paths []string
	if err := kong.Visit(model, func(n kong.Visitable, next kong.Next) error {
		if node, ok := n.(*kong.Node); ok && node.Type == kong.CommandNode {
			paths = append(paths, strings.TrimPrefix(node.Path(), "kasoku "))
		}
		return next(nil)
	}); err != nil {
		t.Fatal(err)
	}
	if len(paths) < 30 {
		t.Fatalf("only %d commands: %q", len(paths), paths)
	}
	for _, path := range paths {
		for _, flag := range []string{"--help", "--version", "--unknown", "unknown"} {
			args := append(strings.Fields(path), flag)
			one := commandOf(args)
			if _, all := one.(*commands); all {
				t.Errorf("the parser of %q has all commands", args)
			}
			if got, want := output(one, args), output(&commands{}, args); got != want {
				t.Errorf("%q printed:\n%s\nwith all commands:\n%s", args, got, want)
			}
		}
	}
}
