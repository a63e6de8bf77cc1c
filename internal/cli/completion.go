package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. For bash: eval \"$(kasoku completion bash)\" in ~/.bashrc."`
}

func (c *completionCommand) Run(env *Environment) error {
	app := newParser(env, &commands{}).Model
	write := map[string]func(io.Writer, *kong.Application) error{"bash": completeBash, "zsh": completeZsh, "fish": completeFish}
	return write[c.Shell](env.Stdout, app)
}

// candidate is something to complete: a command, or a flag.
type candidate struct{ text, help string }

// level lists the completions after a command.
type level struct {
	path   string // "kasoku import"
	words  []candidate
	files  []string // flags with a file name
	values []string // flags with another value
}

// levels returns all commands with their completions.
func levels(app *kong.Application) (list []level) {
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		l := level{path: path}
		for _, child := range n.Children {
			if !child.Hidden {
				l.words = append(l.words, candidate{child.Name, child.Help})
			}
		}
		for _, p := range n.Positional {
			for _, value := range p.EnumSlice() {
				if value != "" {
					l.words = append(l.words, candidate{value, p.Name})
				}
			}
		}
		if n.Name == "help" {
			for _, child := range app.Children {
				l.words = append(l.words, candidate{child.Name, child.Help})
			}
		}
		flags := slices.Clone(n.Flags)
		if n.DefaultCmd != nil {
			flags = append(flags, n.DefaultCmd.Flags...)
		}
		if !slices.Contains(flags, app.HelpFlag) {
			flags = append(flags, app.HelpFlag)
		}
		for _, f := range flags {
			if f.Hidden {
				continue
			}
			names := []string{"--" + f.Name}
			if f.Short != 0 {
				names = append(names, "-"+string(f.Short))
			}
			l.words = append(l.words, candidate{names[0], f.Help})
			switch {
			case f.IsBool():
			case f.FormatPlaceHolder() == "FILE":
				l.files = append(l.files, names...)
			default:
				l.values = append(l.values, names...)
			}
		}
		list = append(list, l)
		for _, child := range n.Children {
			if !child.Hidden {
				walk(child, path+" "+child.Name)
			}
		}
	}
	walk(app.Node, app.Name)
	return list
}

// patterns returns the quoted alternatives of a shell's case.
func patterns(prefix string, names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = `"` + prefix + " " + name + `"`
	}
	return strings.Join(list, "|")
}

// paths returns the commands below the first one.
func paths(list []level) string {
	all := make([]string, 0, len(list))
	for _, l := range list[1:] {
		all = append(all, `"`+l.path+`"`)
	}
	return strings.Join(all, "|")
}

func completeBash(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	list := levels(app)
	fmt.Fprintf(&b, `_kasoku() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=kasoku i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
      %s) at="$at ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $prev" in
`, paths(list))
	writeFlagCases(&b, list, "    %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", "    %s) return ;;\n")
	b.WriteString("  esac\n  case \"$at\" in\n")
	for _, l := range list {
		var words []string
		for _, word := range l.words {
			words = append(words, word.text)
		}
		fmt.Fprintf(&b, "    %q) COMPREPLY=($(compgen -W %q -- \"$cur\")) ;;\n", l.path, strings.Join(words, " "))
	}
	b.WriteString("  esac\n}\ncomplete -o default -F _kasoku kasoku\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFlagCases writes the cases of a shell for flags with a value, in the given formats:
// for file names and for other values.
func writeFlagCases(b *strings.Builder, list []level, files, values string) {
	for _, l := range list {
		if len(l.files) > 0 {
			fmt.Fprintf(b, files, patterns(l.path, l.files))
		}
		if len(l.values) > 0 {
			fmt.Fprintf(b, values, patterns(l.path, l.values))
		}
	}
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func completeZsh(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	list := levels(app)
	fmt.Fprintf(&b, `#compdef kasoku
_kasoku() {
  local at=kasoku
  local -i i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${words[i]}" in
      (%s) at="$at ${words[i]}" ;;
    esac
  done
  case "$at ${words[CURRENT-1]}" in
`, paths(list))
	writeFlagCases(&b, list, "    (%s) _files; return ;;\n", "    (%s) return ;;\n")
	b.WriteString("  esac\n  case \"$at\" in\n")
	for _, l := range list {
		fmt.Fprintf(&b, "    (%q) list=(", l.path)
		for i, word := range l.words {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(shellQuote(strings.ReplaceAll(word.text, ":", `\:`) + ":" + word.help))
		}
		b.WriteString(") ;;\n")
	}
	b.WriteString("  esac\n  _describe kasoku list || _files\n}\n")
	b.WriteString("if [ \"$funcstack[1]\" = _kasoku ]; then _kasoku \"$@\"; else compdef _kasoku kasoku; fi\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func completeFish(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	for _, l := range levels(app) {
		condition := "__fish_use_subcommand"
		if names := strings.Fields(l.path)[1:]; len(names) > 0 {
			condition = "__fish_seen_subcommand_from " + strings.Join(names, "; and __fish_seen_subcommand_from ")
		}
		for _, word := range l.words {
			what := "-a " + word.text
			if name, ok := strings.CutPrefix(word.text, "--"); ok {
				what = "-l " + name
				switch {
				case slices.Contains(l.files, word.text):
					what += " -r -F"
				case slices.Contains(l.values, word.text):
					what += " -x"
				}
			}
			fmt.Fprintf(&b, "complete -c kasoku -n %s %s -d %s\n", shellQuote(condition), what, shellQuote(word.help))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
