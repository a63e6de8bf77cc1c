package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
)

// faultCommand groups the commands about the faults of an embedded store.
type faultCommand struct {
	Set   faultSet   `cmd:"" help:"Replace the faults of an embedded store by those of a plan."`
	Add   faultAdd   `cmd:"" help:"Add a rule to the faults of an embedded store."`
	Split faultSplit `cmd:"" help:"Split the open shards of streams of an embedded store."`
	List  faultList  `cmd:"" help:"Print the faults of an embedded store, and how often they were injected."`
	Clear faultClear `cmd:"" help:"End all faults of an embedded store."`
}

// faultFlags are the flags of all commands about faults.
type faultFlags struct {
	adminFlags
	Service string `help:"The service of the store; needed if several have one." placeholder:"NAME"`
	JSON    bool   `help:"Print JSON."`
}

// faultStatus is the answer to a request about faults.
type faultStatus struct {
	Service string        `json:"service"`
	Faults  faults.Report `json:"faults"`
	Shards  int           `json:"shards,omitempty"`
}

// post sends a request about faults and prints the faults after it.
func (f *faultFlags) post(env *Environment, path string, r admin.FaultRequest) error {
	client, err := f.client(env)
	if err != nil {
		return err
	}
	r.Service = f.Service
	var status faultStatus
	if err := client.post("/api/v1/faults"+path, r, &status); err != nil {
		return fail(codeInput, err)
	}
	if f.JSON {
		return json.NewEncoder(env.Stdout).Encode(status)
	}
	return status.print(env.Stdout)
}

// print prints the faults for people.
func (s *faultStatus) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if s.Shards > 0 {
		fmt.Fprintf(w, "%s: %d shards were closed, and others follow them\n", s.Service, s.Shards)
	}
	fmt.Fprintf(w, "%s: %d rules\n", s.Service, len(s.Faults.Rules))
	if s.Faults.EnforceCapacity {
		fmt.Fprintf(w, "capacity is enforced: %d throttled\n", s.Faults.Throttled)
	}
	if s.Faults.Conflicts {
		fmt.Fprintf(w, "transactions in progress conflict with other requests\n")
	}
	if n := s.Faults.CollectionLimit; n > 0 {
		fmt.Fprintf(w, "item collections have at most %d bytes\n", n)
	}
	if e := s.Faults.EventualReads; e != nil {
		fmt.Fprintf(w, "eventually consistent reads lag by %s\n", e.Lag)
	}
	if s.Faults.IndexLag != "" {
		fmt.Fprintf(w, "global indexes lag by %s\n", s.Faults.IndexLag)
	}
	for _, state := range [][2]string{{"CREATING", s.Faults.Creating}, {"UPDATING", s.Faults.Updating}, {"DELETING", s.Faults.Deleting}} {
		if state[1] != "" {
			fmt.Fprintf(w, "tables are %s for %s\n", state[0], state[1])
		}
	}
	if len(s.Faults.Rules) > 0 {
		fmt.Fprintf(w, "NAME\tMATCHED\tINJECTED\tRULE\n")
	}
	for _, r := range s.Faults.Rules {
		name := r.Name
		r.Name = ""
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", name, r.Matched, r.Injected, r.Text())
	}
	return w.Flush()
}

type faultSet struct {
	faultFlags
	File string `arg:"" help:"The plan, as JSON; - is standard input." placeholder:"FILE"`
}

func (c *faultSet) Run(env *Environment) error {
	text, err := readPlan(env, c.File)
	if err != nil {
		return fail(codeInput, err)
	}
	return c.post(env, "", admin.FaultRequest{Plan: text})
}

// readPlan reads a plan from a file, or from standard input if that is "-", and checks it.
func readPlan(env *Environment, file string) (text []byte, err error) {
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	if text, err = io.ReadAll(io.LimitReader(in, faults.MaxPlan+1)); err != nil {
		return nil, err
	}
	if _, err := faults.Parse(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

type faultAdd struct {
	faultFlags
	Name        string   `help:"The name of the rule; default: its number." placeholder:"NAME"`
	Operation   []string `help:"The operations, or patterns of them: PutItem, Batch*. May be repeated; default: all." placeholder:"NAME"`
	Table       []string `help:"The tables, or patterns of them. May be repeated; default: all." placeholder:"NAME"`
	Key         string   `help:"Attribute values that the key or the item must have, as JSON." placeholder:"JSON"`
	Probability string   `help:"The share of the requests, for example 0.1; default: all." placeholder:"SHARE"`
	After       string   `help:"Leave so many requests alone first." placeholder:"N"`
	Every       string   `help:"Only one of so many requests." placeholder:"N"`
	Count       string   `help:"At most so many requests." placeholder:"N"`
	Delay       string   `help:"Wait before the request is executed: 200ms, or from 50ms to 1s as 50ms-1s." placeholder:"TIME"`
	Hold        string   `help:"Keep the items of a write locked for so long before it is committed." placeholder:"TIME"`
	Error       string   `help:"Answer with this error, for example ThrottlingException." placeholder:"TYPE"`
	Message     string   `help:"The message of the error, instead of the service's." placeholder:"TEXT"`
	Reset       bool     `help:"Close the connection without an answer."`
	Executed    bool     `help:"Execute the request before the error or the reset."`
	Unprocessed string   `help:"Leave this share of a batch's items unprocessed, for example 0.5." placeholder:"SHARE"`
}

// rule returns the rule of the flags as JSON.
func (c *faultAdd) rule() ([]byte, error) {
	rule := map[string]any{}
	if c.Name != "" {
		rule["name"] = c.Name
	}
	for name, list := range map[string][]string{"operations": c.Operation, "tables": c.Table} {
		if list != nil {
			rule[name] = list
		}
	}
	for name, text := range map[string]string{"key": c.Key, "probability": c.Probability, "after": c.After,
		"every": c.Every, "count": c.Count, "unprocessed": c.Unprocessed} {
		switch {
		case text == "":
		case json.Valid([]byte(text)):
			rule[name] = json.RawMessage(text)
		default:
			rule[name] = text // refused with the name of the field
		}
	}
	for name, text := range map[string]string{"delay": c.Delay, "hold": c.Hold} {
		if low, high, ok := strings.Cut(text, "-"); ok {
			rule[name] = map[string]string{"min": low, "max": high}
		} else if text != "" {
			rule[name] = text
		}
	}
	switch {
	case c.Error != "" && c.Message != "":
		rule["error"] = map[string]string{"type": c.Error, "message": c.Message}
	case c.Error != "":
		rule["error"] = c.Error
	case c.Message != "":
		return nil, fmt.Errorf("--message needs --error")
	}
	if c.Reset {
		rule["reset"] = true
	}
	if c.Executed {
		rule["executed"] = true
	}
	return json.Marshal(rule)
}

func (c *faultAdd) Run(env *Environment) error {
	text, err := c.rule()
	if err != nil {
		return fail(codeUsage, err)
	}
	if _, err := faults.ParseRule(text); err != nil {
		return fail(codeInput, err)
	}
	return c.post(env, "/add", admin.FaultRequest{Rule: text})
}

type faultSplit struct {
	faultFlags
	Table []string `help:"The tables, or patterns of them. May be repeated; default: all." placeholder:"NAME"`
}

func (c *faultSplit) Run(env *Environment) error {
	return c.post(env, "/split", admin.FaultRequest{Tables: c.Table})
}

type faultList struct {
	faultFlags
}

func (c *faultList) Run(env *Environment) error { return c.post(env, "/list", admin.FaultRequest{}) }

type faultClear struct {
	faultFlags
}

func (c *faultClear) Run(env *Environment) error { return c.post(env, "/clear", admin.FaultRequest{}) }
