package embedded

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected output in testdata's scripts with the current one")

// TestScripts runs the scripts in testdata: see testdata/README.md.
func TestScripts(t *testing.T) {
	playAll(t, "testdata/*.txt", func(t *testing.T, text string) string { return playScript(t, newStore(t), text) })
}

// TestScriptsInMemory runs the scripts with a store in memory.
func TestScriptsInMemory(t *testing.T) {
	eachFile(t, "testdata/*.txt", func(t *testing.T, _, text string) {
		compareScripts(t, text, playScript(t, newMemoryStore(t), text))
	})
}

// playAll runs each file that matches the pattern, and compares the result with the file.
func playAll(t *testing.T, pattern string, play func(t *testing.T, text string) string) {
	eachFile(t, pattern, func(t *testing.T, file, text string) {
		got := play(t, text)
		if !*rewrite {
			compareScripts(t, text, got)
			return
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// eachFile runs f as a test for each file that matches the pattern.
func eachFile(t *testing.T, pattern string, f func(t *testing.T, file, text string)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f(t, file, string(text))
		})
	}
}

// compareScripts reports every block that differs from the expected one.
func compareScripts(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n\n"), strings.Split(got, "\n\n")
	if len(w) != len(g) {
		t.Fatalf("read %d blocks, but ran %d: one empty line must separate blocks", len(w), len(g))
	}
	for i := range w {
		if strings.TrimSpace(w[i]) != strings.TrimSpace(g[i]) {
			_, answer, _ := strings.Cut(g[i], "\n----\n")
			t.Errorf("%s\ngot\n%s", w[i], answer)
		}
	}
}

// playScript runs a script and returns it with the current output.
func playScript(t *testing.T, store *Store, text string) string {
	store.createTables(t)
	s := &script{t: t, s: store}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		command, _, answered := strings.Cut(block, "\n----")
		out.WriteString(command)
		if answer := s.run(command); answered {
			out.WriteString("\n----\n" + answer)
		} else if !strings.HasPrefix(answer, "200 ") {
			t.Errorf("%s\n%s", command, answer)
		}
		out.WriteString("\n\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// script is the state of a script that is being run.
type script struct {
	t    *testing.T
	s    *Store
	item string // stored by `item`
}

// run executes the command of a block, without its comments.
func (s *script) run(block string) string {
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	name, rest, _ := strings.Cut(unfolded(strings.Join(lines, "\n")), " ")
	if name == "item" {
		s.item = rest
		return s.restore()
	}
	if c, ok := shortCommands[name]; ok {
		return s.expression(c, rest)
	}
	return s.ask(name, rest)
}

var repeat = regexp.MustCompile(`<([^<>*]+)\*(\d+)>`)

// unfolded replaces <text*n> by n copies of text.
func unfolded(command string) string {
	return repeat.ReplaceAllStringFunc(command, func(s string) string {
		m := repeat.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
}

// ask sends a request and returns the answer as scripts have it.
func (s *script) ask(op, body string) string {
	s.t.Helper()
	status, reply := s.s.send(s.t, op, body)
	return cut(printed(status, reply))
}

// maxAnswer is the maximum number of characters of an answer in a script.
const maxAnswer = 1000

// cut removes the middle of a long answer.
func cut(answer string) string {
	letters := []rune(answer)
	if len(letters) <= maxAnswer {
		return answer
	}
	return string(letters[:maxAnswer/2]) + "..." + string(letters[len(letters)-maxAnswer/2:])
}

// printed returns a reply as scripts have it.
func printed(status int, reply string) string {
	if status == 200 {
		return "200 " + reply
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(reply), &members); err != nil {
		return fmt.Sprintf("%d %s", status, reply)
	}
	text := func(name string) (v string) {
		_ = json.Unmarshal(members[name], &v)
		delete(members, name)
		return v
	}
	typ := text("__type")
	out := fmt.Sprintf("%d %s: %s%s", status, typ[strings.Index(typ, "#")+1:], text("message"), text("Message"))
	if len(members) > 0 {
		more, _ := json.Marshal(members)
		out += "\n" + string(more)
	}
	return out
}

func (s *script) restore() string {
	return s.ask("PutItem", `{"TableName":"plain","Item":`+s.item+`}`)
}

// shortCommand is a request of which a script has only the expression.
type shortCommand struct{ op, base, member string }

const scriptKey = `"TableName":"plain","Key":{"p":{"S":"a"}}`

var shortCommands = map[string]shortCommand{
	"condition": {"UpdateItem", scriptKey, "ConditionExpression"},
	"update":    {"UpdateItem", scriptKey + `,"ReturnValues":"ALL_NEW"`, "UpdateExpression"},
	"project":   {"GetItem", scriptKey, "ProjectionExpression"},
	"filter":    {"Scan", `"TableName":"plain","Select":"COUNT"`, "FilterExpression"},
	"key":       {"Query", `"TableName":"range","Select":"COUNT"`, "KeyConditionExpression"},
	"expected":  {"UpdateItem", scriptKey, "Expected"},
	"updates":   {"UpdateItem", scriptKey + `,"ReturnValues":"ALL_NEW"`, "AttributeUpdates"},
}

// expression sends a request with an expression and the parts after it: after each " | " there is
// a placeholder with its value, or further members.
func (s *script) expression(c shortCommand, text string) string {
	if strings.Contains(c.member, "Update") && s.item != "" {
		s.restore()
	}
	parts := strings.Split(text, " | ")
	main := parts[0]
	if strings.HasSuffix(c.member, "Expression") {
		quoted, _ := json.Marshal(main)
		main = string(quoted)
	}
	base := c.base
	if strings.Contains(text, ` | "ReturnValues":`) {
		base = scriptKey
	}
	body := "{" + base + `,"` + c.member + `":` + main
	var names, values []string
	for _, part := range parts[1:] {
		ref, replacement, _ := strings.Cut(part, "=")
		switch part[0] {
		case '#':
			name, _ := json.Marshal(replacement)
			names = append(names, fmt.Sprintf("%q:%s", ref, name))
		case ':':
			values = append(values, fmt.Sprintf("%q:%s", ref, replacement))
		default:
			body += "," + part
		}
	}
	if names != nil {
		body += `,"ExpressionAttributeNames":{` + strings.Join(names, ",") + "}"
	}
	if values != nil {
		body += `,"ExpressionAttributeValues":{` + strings.Join(values, ",") + "}"
	}
	answer := s.ask(c.op, body+"}")
	if c.member != "ConditionExpression" && c.member != "Expected" {
		return answer
	}
	switch answer {
	case "200 {}":
		return "true"
	case "400 ConditionalCheckFailedException: The conditional request failed":
		return "false"
	}
	return answer
}
