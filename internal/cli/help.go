package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command, such as purge or import nginx."`
	Man     bool     `help:"Print the manual page, for man."`
}

func (c *helpCommand) Run(env *Environment) error {
	if c.Man {
		return manual(env.Stdout, newParser(env, &commands{}).Model)
	}
	if code := Main(append(c.Command, "--help"), *env); code != codeOK {
		return fail(code, nil)
	}
	return nil
}

// manual writes the manual page of all commands.
func manual(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH KASOKU 1 "" "kasoku %s" "User Commands"`, roff(thisBuild().Version))
	line(".SH NAME\nkasoku \\- %s", roff(strings.TrimSuffix(strings.ToLower(app.Help[:1])+app.Help[1:], ".")))
	line(".SH SYNOPSIS")
	nodes := app.Leaves(true)
	for _, n := range nodes {
		line(".B %s\n.br", roff(usage(n)))
	}
	line(".SH DESCRIPTION\nOutput for people is written to standard error, output for programs to standard output.")
	line(".SH COMMANDS")
	for _, n := range nodes {
		line(".SS %s\n%s", roff(usage(n)), roff(n.Help))
		for _, p := range n.Positional {
			line(".TP\n.B %s\n%s", roff(p.Summary()), roff(p.Help))
		}
		for _, f := range flagsOf(n) {
			line(".TP\n.B %s\n%s", roff(flagUsage(f)), roff(f.Help))
		}
	}
	line(".SH EXIT STATUS")
	for _, s := range []struct {
		code int
		text string
	}{
		{codeOK, "Success."},
		{codeInput, "Wrong input, a check that failed, or an embedded store that can no longer write to its disk."},
		{codeUsage, "An invalid command line."},
		{codeStart, "The services could not start, for example because a port is taken."},
	} {
		line(".TP\n.B %d\n%s", s.code, s.text)
	}
	line(".SH FILES\n.TP\n.I kasoku.yaml\nThe configuration, in the working directory unless \\-c names another file.")
	line(".SH SIGNALS\nSIGTERM and SIGINT stop kasoku serve once the requests in flight are answered; SIGHUP makes it read the file again.")
	_, err := io.WriteString(w, b.String())
	return err
}

// flagsOf returns the flags of a command, except for --help and --version.
func flagsOf(n *kong.Node) (list []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden {
			list = append(list, f)
		}
	}
	return list
}

// usage returns the usage line of a command.
func usage(n *kong.Node) string {
	parts := []string{n.FullPath()}
	for _, p := range n.Positional {
		parts = append(parts, p.Summary())
	}
	for _, f := range flagsOf(n) {
		if f.Required {
			parts = append(parts, flagUsage(f))
		}
	}
	if len(flagsOf(n)) > 0 {
		parts = append(parts, "[flags]")
	}
	return strings.Join(parts, " ")
}

func flagUsage(f *kong.Flag) string {
	text := "--" + f.Name
	if f.Short != 0 {
		text = fmt.Sprintf("-%c, %s", f.Short, text)
	}
	if !f.IsBool() {
		text += "=" + f.FormatPlaceHolder()
	}
	return text
}

// roff escapes text for the manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
