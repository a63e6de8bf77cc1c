package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
)

// TestSessions runs the sessions of testdata/sessions: see the README there.
func TestSessions(t *testing.T) { playAll(t, "testdata/sessions/*.txt", playSession) }

// TestFaultSessions runs the sessions of testdata/faults: see the README of testdata/sessions.
func TestFaultSessions(t *testing.T) { playAll(t, "testdata/faults/*.txt", playSession) }

// session is a client and its store, which has no background work.
type session struct {
	t     *testing.T
	dir   string
	clock *clock
	s     *Store
	reply string            // to the last request
	saved map[string]string // values of $name
	// before is called with each request before it is sent; nil for none.
	before func(s *session, op, body string)
}

// sessionStart is the time at which each session's clock begins.
var sessionStart = time.Date(2026, time.January, 2, 3, 4, 5, 678e6, time.UTC)

// playSession runs a session and returns it with the current output.
func playSession(t *testing.T, text string) string {
	s := &session{t: t, dir: t.TempDir(), clock: clockAt(sessionStart), saved: map[string]string{}}
	s.open()
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		command, _, answered := strings.Cut(block, "\n----")
		out.WriteString(command)
		if answered {
			out.WriteString("\n----")
		}
		if answer := s.run(command); answer != "" && answered {
			out.WriteString("\n" + answer)
		}
		out.WriteString("\n\n")
	}
	// The session's tables and items are still there after a restart.
	before := s.described()
	s.s.Close()
	s.open()
	if after := s.described(); after != before {
		t.Errorf("after a restart:\n%s\nbefore:\n%s", after, before)
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// described returns all descriptions of the store's tables and streams.
func (s *session) described() string {
	var out []string
	ask := func(op, body string) string {
		reply := s.s.mustSend(s.t, op, body)
		out = append(out, op+" "+reply)
		return reply
	}
	var tables struct{ TableNames []string }
	var streams struct{ Streams []struct{ StreamArn string } }
	if err := errors.Join(json.Unmarshal([]byte(ask("ListTables", `{}`)), &tables), json.Unmarshal([]byte(ask("ListStreams", `{}`)), &streams)); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range tables.TableNames {
		ask("DescribeTable", fmt.Sprintf(`{"TableName":%q}`, name))
		ask("DescribeTimeToLive", fmt.Sprintf(`{"TableName":%q}`, name))
		ask("ListTagsOfResource", fmt.Sprintf(`{"ResourceArn":%q}`, s.s.place().Table(name)))
	}
	for _, stream := range streams.Streams {
		ask("DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, stream.StreamArn))
	}
	return strings.Join(out, "\n")
}

func (s *session) open() {
	s.s = openIdle(s.t, onDisk{Dir: s.dir, NoSync: true}, s.clock.Now)
}

var savedName = regexp.MustCompile(`\$[a-z0-9]+`)

// run executes the command of a block, without its comments. Lines after the first continue it.
func (s *session) run(block string) string {
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimLeft(line, " "))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	name, rest, _ := strings.Cut(unfolded(strings.Join(lines, "")), " ")
	rest = savedName.ReplaceAllStringFunc(rest, func(ref string) string {
		if v, ok := s.saved[ref[1:]]; ok {
			return v
		}
		return ref
	})
	if f, ok := sessionCommands[name]; ok {
		return f(s, rest)
	}
	return s.ask(name, rest)
}

// sessionCommands are the commands other than DynamoDB's operations.
var sessionCommands = map[string]func(s *session, arg string) string{
	"wait": func(s *session, arg string) string {
		d, err := time.ParseDuration(arg)
		if err != nil {
			s.t.Fatal(err)
		}
		s.clock.advance(d)
		return ""
	},
	"fill": func(s *session, _ string) string {
		s.s.finishBackfill(s.t)
		return ""
	},
	"expire": func(s *session, _ string) string { return s.background(s.s.sweep) },
	"trim":   func(s *session, _ string) string { return s.background(s.s.trimStreams) },
	"forget": func(s *session, _ string) string { return s.background(s.s.forgetTokens) },
	"restart": func(s *session, _ string) string {
		s.s.Close()
		s.open()
		return ""
	},
	"save":   (*session).save,
	"faults": (*session).faults,
	"counts": func(s *session, _ string) string {
		var all []string
		for _, r := range s.s.Faults().Rules {
			all = append(all, fmt.Sprintf("%s: %d of %d", r.Name, r.Injected, r.Matched))
		}
		if n := s.s.Faults().Throttled; n > 0 {
			all = append(all, fmt.Sprintf("throttled: %d", n))
		}
		return strings.Join(all, ", ")
	},
}

// faults sets the faults of the store.
func (s *session) faults(plan string) string {
	p, err := faults.Parse([]byte(plan))
	if err == nil {
		err = s.s.SetFaults(p)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (s *session) background(f func(now time.Time) error) string {
	if err := f(s.clock.Now()); err != nil {
		return err.Error()
	}
	return ""
}

// save stores a part of the last reply: name=Path.To.Member, in which a number is a position in
// a list.
func (s *session) save(arg string) string {
	name, path, _ := strings.Cut(arg, "=")
	var at any
	if err := json.Unmarshal([]byte(s.reply), &at); err != nil {
		return err.Error()
	}
	for step := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				return fmt.Sprintf("no %s in %s", path, s.reply)
			}
			at = v[i]
		}
	}
	if text, ok := at.(string); ok {
		s.saved[name] = text
		return ""
	}
	text, err := json.Marshal(at)
	if err != nil || at == nil {
		return fmt.Sprintf("no %s in %s", path, s.reply)
	}
	s.saved[name] = string(text)
	return ""
}

// masked are the parts of replies that differ from run to run.
var masked = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"`), `"<uuid>"`},
	{regexp.MustCompile(`"eventID":"[0-9a-f]{32}"`), `"eventID":"<32 digits>"`},
	{regexp.MustCompile(`ShardIterator":"[^"|]*\|[^"]*"`), `ShardIterator":"<iterator>"`},
	{regexp.MustCompile(`"NextToken":"[^"]*"`), `"NextToken":"<token>"`},
}

// ask sends a request and returns the answer as sessions have it.
func (s *session) ask(op, body string) string {
	if s.before != nil {
		s.before(s, op, body)
	}
	status, reply := s.s.send(s.t, op, body)
	s.reply = reply
	out := printed(status, reply)
	for _, m := range masked {
		out = m.what.ReplaceAllString(out, m.with)
	}
	return folded(out)
}

// minFolded is the minimum length of a run of one letter that is written as <x*n>.
const minFolded = 50

// folded replaces runs of one letter by <x*n>.
func folded(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		n := 1
		for i+n < len(text) && text[i+n] == text[i] {
			n++
		}
		if n < minFolded {
			out.WriteString(text[i : i+n])
		} else {
			fmt.Fprintf(&out, "<%c*%d>", text[i], n)
		}
		i += n
	}
	return out.String()
}
