package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// verifyCommand compares cached answers with the origin, or prints the figures of a running node.
type verifyCommand struct {
	adminFlags
	Service string  `arg:"" optional:"" name:"service" help:"The service whose hits are compared; without it, the figures of all services since the start are printed."`
	For     span    `help:"How long; default: 1m, with --count until that is reached." placeholder:"TIME"`
	Count   uint64  `help:"End when so many answers were found right or wrong." placeholder:"N"`
	Table   string  `help:"Only hits of this table." placeholder:"NAME"`
	Keys    string  `help:"Compare the stored entries of a list instead of sampled hits, from this file or from standard input with -; its lines are as for warm." placeholder:"FILE"`
	Rate    float64 `help:"The maximum number of comparisons per second; default: 20." placeholder:"N"`
	Budget  float64 `help:"The read capacity units that they may consume per second; default: 100." placeholder:"N"`
	JSON    bool    `help:"Print JSON."`
}

// Validate is called by kong after parsing.
func (c *verifyCommand) Validate() error {
	limits := c.For != 0 || c.Count != 0 || c.Table != ""
	switch {
	case c.Service == "" && (limits || c.Keys != "" || c.Rate != 0 || c.Budget != 0):
		return errors.New("name the service whose answers are compared")
	case c.Keys != "" && limits:
		return errors.New("--for, --count and --table are not for --keys")
	case c.For < 0 || c.Rate < 0 || c.Budget < 0:
		return errors.New("--for, --rate and --budget must be positive")
	}
	return nil
}

// verifyTotals are the results of all requests of the command.
type verifyTotals struct {
	admin.VerifyCounts
	Absent       uint64            `json:"absent"`
	Problems     uint64            `json:"problems"`
	ReadUnits    float64           `json:"read_units"`
	RightAtLeast *float64          `json:"right_at_least"`
	Details      []admin.Violation `json:"violation_details"`
	Error        string            `json:"error,omitempty"` // why it has ended early
}

const (
	verifyPath    = "/api/v1/verify"
	verifyRunPath = "/api/v1/verify/run"
)

func (c *verifyCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	if c.Service == "" {
		return c.figures(client, env)
	}
	ctx, cancel := untilSignal(env)
	defer cancel()
	run := verifyRun{client: client, command: c, bar: newProgressBar(env), errors: env.Stderr}
	if c.Keys != "" {
		err = run.replay(ctx, env)
	} else {
		err = run.post(ctx, &admin.VerifyRequest{Table: c.Table, Count: c.Count, Seconds: time.Duration(c.For).Seconds()})
	}
	run.bar.clear()
	t := &run.totals
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil && t.VerifyCounts == (admin.VerifyCounts{}) {
		return err
	}
	if err != nil {
		t.Error = err.Error()
	}
	if t.VerifyCounts.Violations == 0 && t.Checked() > 0 {
		share := admin.RightAtLeast(t.Checked())
		t.RightAtLeast = &share
	}
	if c.JSON {
		if err := json.NewEncoder(env.Stdout).Encode(t); err != nil {
			return err
		}
	} else {
		printVerified(env.Stdout, c.Service, &t.VerifyCounts, t.ReadUnits, t.Details)
		if t.Absent > 0 {
			fmt.Fprintf(env.Stdout, "  %d entries of the list are not stored\n", t.Absent)
		}
	}
	if err == nil && t.VerifyCounts.Violations+t.Problems > 0 {
		return fail(codeInput, nil) // they were printed
	}
	return err
}

// figures prints the figures of the services since the start.
func (c *verifyCommand) figures(client *adminClient, env *Environment) error {
	var s admin.VerifyStatement
	if err := client.get(verifyPath, &s); err != nil {
		return err
	}
	violations := uint64(0)
	for i := range s.Services {
		v := &s.Services[i]
		violations += v.VerifyCounts.Violations
		if !c.JSON {
			printVerified(env.Stdout, v.Service, &v.VerifyCounts, v.ReadUnits, v.Recent)
		}
	}
	if c.JSON {
		if err := json.NewEncoder(env.Stdout).Encode(s); err != nil {
			return err
		}
	}
	if violations > 0 {
		return fail(codeInput, nil) // they were printed
	}
	return nil
}

// printVerified prints the result for a service, with its violations.
func printVerified(out io.Writer, service string, c *admin.VerifyCounts, units float64, violations []admin.Violation) {
	for i := range violations {
		printViolation(out, &violations[i])
	}
	fmt.Fprintf(out, "%s: %s\n  %d explained, %d unexplained, %d skipped; %.1f read units\n", service, c.Result(), c.Explained, c.Unexplained, c.Skipped, units)
}

// printViolation prints a violation with its history.
func printViolation(out io.Writer, v *admin.Violation) {
	fmt.Fprintf(out, "violation: %s %s of table %s: %s\n  differs in %s; cached %s, origin %s\n", v.Kind, v.Key, v.Table, v.Why, strings.Join(v.Differs, ", "), v.Cached, v.Origin)
	at := func(name string, t time.Time) { fmt.Fprintf(out, "  %s %s\n", t.Format(time.RFC3339Nano), name) }
	if v.Filled != nil {
		at("stored", *v.Filled)
	}
	for _, w := range v.Writes {
		at("write: "+strings.TrimSpace(w.Operation+" "+w.RequestID), w.Time)
	}
	at("served", v.Served)
	at("read of the origin began", v.ReadBegan)
	at("read of the origin ended", v.ReadEnded)
	for _, t := range v.Tags {
		fmt.Fprintf(out, "  tag %s: generation %d when stored, %d now, %d writes in flight\n", t.Name, t.Then, t.Now, t.Writers)
	}
}

// verifyRun sends the requests of the command.
type verifyRun struct {
	client  *adminClient
	command *verifyCommand
	bar     *progressBar
	errors  io.Writer // has a line for each entry that names nothing
	totals  verifyTotals
}

// post makes the comparisons of a request, and adds their results to the totals.
func (r *verifyRun) post(ctx context.Context, request *admin.VerifyRequest) error {
	request.Service, request.Rate, request.Budget = r.command.Service, r.command.Rate, r.command.Budget
	var last admin.VerifyProgress
	err := r.client.stream(ctx, verifyRunPath, request, func(d *json.Decoder) error {
		var p admin.VerifyProgress
		if err := d.Decode(&p); err != nil {
			return err
		}
		last = p
		r.totals.Details = append(r.totals.Details, p.Violations...)
		for _, problem := range p.Problems {
			r.problem(problem)
		}
		r.bar.showText(fmt.Sprintf("%d answers checked, %d violations", p.Checked(), p.VerifyCounts.Violations), p.Part)
		return nil
	})
	r.totals.VerifyCounts.Add(&last.VerifyCounts)
	r.totals.Absent += last.Absent
	r.totals.ReadUnits += last.ReadUnits
	switch {
	case last.Error != "":
		return errors.New(last.Error)
	case err != nil:
		return err
	case !last.Done:
		return errors.New("the admin API's answer broke off")
	}
	return nil
}

// problem prints an entry that can't be compared, with the reason.
func (r *verifyRun) problem(text string) {
	r.totals.Problems++
	r.bar.clear()
	fmt.Fprintln(r.errors, strings.ReplaceAll(text, "\n", " "))
}

// replay compares the entries of the list, some in each request.
func (r *verifyRun) replay(ctx context.Context, env *Environment) error {
	in, name := env.Stdin, "standard input"
	if r.command.Keys != "-" {
		f, err := os.Open(r.command.Keys)
		if err != nil {
			return err
		}
		defer f.Close()
		in, name = f, r.command.Keys
	}
	for list, more := newEntryReader(in, name), true; more; {
		batch, size := []string{}, 0
		for len(batch) < maxWarmBatch && size < maxBatchBytes {
			e, err := list.next()
			if errors.Is(err, errBadEntry) {
				r.problem(fmt.Sprintf("%s: %v", e.place, err))
				continue
			}
			if more = err == nil; !more {
				if err != io.EOF {
					return err
				}
				break
			}
			batch, size = append(batch, e.text), size+len(e.text)
		}
		if len(batch) == 0 {
			continue
		}
		if err := r.post(ctx, &admin.VerifyRequest{List: batch}); err != nil {
			return err
		}
	}
	return nil
}
