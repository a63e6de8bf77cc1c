package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// decodeText removes the byte order mark that some editors write, and refuses text whose
// mark is of another encoding than UTF-8.
func decodeText(data []byte) ([]byte, error) {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return nil, errors.New("the file is UTF-16; save it as UTF-8")
		}
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// parseYAML parses data, and turns a panic of the parser into an error.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("is no YAML that can be understood: %v", r)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

func (d *decoder) syntax(err error) {
	se, ok := errors.AsType[*yaml.SyntaxError](err)
	if !ok || se.Token == nil || se.Token.Position == nil {
		d.report(place{}, "", "YAML syntax: %v", err)
		return
	}
	at := place{se.Token.Position.Line, se.Token.Position.Column}
	if line, hint := d.indentation(at, se.Message); hint != "" {
		d.report(place{line, indentOf(d.lines[line-1]) + 1}, "", "YAML syntax: %s", hint)
		return
	}
	d.report(at, "", "YAML syntax: %s", se.Message)
}

// indentation returns the line with the wrong indentation that caused an error of the
// parser, and a description of the mistake. The hint is empty if the error has another
// cause.
func (d *decoder) indentation(at place, message string) (line int, hint string) {
	if at.line > len(d.lines) {
		return 0, ""
	}
	switch {
	case strings.HasPrefix(message, "found character '\t'"):
		return at.line, "a tab where the indentation is; YAML takes spaces only"
	case strings.HasPrefix(message, "mapping value is not allowed"):
		// The parser joins a value with the deeper line below it, and reports the value.
		for next := at.line + 1; next <= len(d.lines); next++ {
			if blank(d.lines[next-1]) {
				continue
			}
			if indentOf(d.lines[next-1]) <= indentOf(d.lines[at.line-1]) || hasColon(d.after(at)) {
				return 0, ""
			}
			return next, fmt.Sprintf("indented by %d, more than line %d above by %d, which has a value already",
				indentOf(d.lines[next-1]), at.line, indentOf(d.lines[at.line-1]))
		}
	case strings.HasPrefix(message, "value is not allowed"), strings.HasPrefix(message, "non-map value"):
		own := indentOf(d.lines[at.line-1])
		if levels := d.levels(at.line); own+1 == at.column && !slices.Contains(levels, fmt.Sprint(own)) {
			return at.line, fmt.Sprintf("indented by %d, where the lines above are indented by %s", own, strings.Join(levels, ", "))
		}
	}
	return 0, ""
}

// levels returns the indentations that a line may have after the lines above it, the deepest
// first.
func (d *decoder) levels(line int) (levels []string) {
	least := -1
	for i := line - 2; i >= 0; i-- {
		if n := indentOf(d.lines[i]); !blank(d.lines[i]) && (least < 0 || n < least) {
			least = n
			levels = append(levels, fmt.Sprint(n))
		}
	}
	return levels
}

// after returns the rest of a line from a place on.
func (d *decoder) after(at place) string {
	line := []rune(d.lines[at.line-1])
	return string(line[min(at.column-1, len(line)):])
}

func hasColon(text string) bool {
	return strings.Contains(text, ": ") || strings.HasSuffix(strings.TrimSpace(text), ":")
}

// blank reports whether a line is empty except for a comment.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
