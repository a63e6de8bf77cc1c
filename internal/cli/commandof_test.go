package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestCommandOf compares parsers of one command with the parser of all: they print the same help and
// the same errors.
func TestCommandOf(t *testing.T) {
	t.Parallel()
	all := newOutput(&commands{})
	var paths []string
	if err := kong.Visit(all.parser.Model, func(n kong.Visitable, next kong.Next) error {
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
		model := commandOf(strings.Fields(path))
		if _, complete := model.(*commands); complete {
			t.Errorf("the parser of %q has all commands", path)
		}
		one := newOutput(model)
		for _, flag := range []string{"--help", "--version", "--unknown", "unknown"} {
			args := append(strings.Fields(path), flag)
			if got, want := one.of(args), all.of(args); got != want {
				t.Errorf("%q printed:\n%s\nwith all commands:\n%s", args, got, want)
			}
		}
	}
}

// output is a parser with the text that it prints.
type output struct {
	parser *kong.Kong
	text   *bytes.Buffer
}

func newOutput(model any) *output {
	text := new(bytes.Buffer)
	return &output{newParser(&Environment{Stdout: text, Stderr: text}, model), text}
}

// of returns the text, the exit code and the error of a command line.
func (o *output) of(args []string) (text string) {
	o.text.Reset()
	defer func() {
		if code, ok := recover().(exited); ok {
			text = fmt.Sprint(o.text, " exit code ", code)
		}
	}()
	_, err := o.parser.Parse(args)
	return fmt.Sprint(o.text, " error: ", err)
}
