package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/transfer"
	"github.com/kasoku/kasoku/internal/dynamo/transfer/anonymise"
)

// endpointFlags select the store that a command is a client of.
type endpointFlags struct {
	Config   string `short:"c" help:"The configuration file with the service of type dynamodb; default: kasoku.yaml in the working directory, if it is there." placeholder:"FILE"`
	Endpoint string `help:"The store's address instead of the file's: a URL, or unix:/path; without either http://127.0.0.1:8000. Credentials are those of the AWS SDK's default chain." placeholder:"URL"`
	Region   string `help:"The region for signatures; default: that of AWS's address, of the file, AWS_REGION, or us-east-1." placeholder:"REGION"`
}

const (
	standardStore  = "http://127.0.0.1:8000"
	standardRegion = "us-east-1"
)

// region returns the region for endpoints outside of AWS.
func (f *endpointFlags) region(env *Environment, ofFile string) string {
	variable, _ := env.Lookup("AWS_REGION")
	return cmp.Or(f.Region, ofFile, variable, standardRegion)
}

// endpoint returns the store.
func (f *endpointFlags) endpoint(env *Environment) (*transfer.Endpoint, error) {
	file := f.Config
	if file == "" && f.Endpoint == "" {
		file = "kasoku.yaml"
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			file = ""
		}
	}
	if file == "" {
		return transfer.NewEndpoint(cmp.Or(f.Endpoint, standardStore), f.region(env, ""))
	}
	list, err := config.ReadStores(file, env.Lookup)
	if err != nil {
		return nil, fmt.Errorf("the store's address can't be read from %s; give --endpoint, or: %w", file, err)
	}
	switch {
	case f.Endpoint != "":
		region := ""
		if len(list) > 0 {
			region = list[0].Region
		}
		return transfer.NewEndpoint(f.Endpoint, f.region(env, region))
	case len(list) != 1:
		return nil, fmt.Errorf("%s has %d services of type dynamodb; give --endpoint", file, len(list))
	case list[0].URL == "":
		return nil, fmt.Errorf("%s: the service %s listens on a port that is chosen at its start; give --endpoint", file, list[0].Service)
	}
	return transfer.NewEndpoint(list[0].URL, f.region(env, list[0].Region))
}

// transferFlags are the flags of all transfers.
type transferFlags struct {
	State     string        `help:"The file that has the progress of a run that is not complete, from which the next one continues." placeholder:"FILE"`
	Anonymise string        `help:"Replace values by the rules in this file." placeholder:"FILE"`
	Segments  int           `help:"The number of segments of a table that are read at the same time; default: ${default}." default:"4" placeholder:"N"`
	RetryFor  time.Duration `help:"The time without success after which a request is given up; default: ${default}." default:"2m" placeholder:"DURATION"`
	JSON      bool          `help:"Print the counts as JSON on standard output."`
}

// maxParallel is the maximum of flags for concurrency.
const maxParallel = 1000

// check returns an error if a flag is out of range.
func (f *transferFlags) check() error {
	switch {
	case f.Segments < 1 || f.Segments > maxParallel:
		return fmt.Errorf("--segments must be from 1 to %d", maxParallel)
	case f.RetryFor <= 0:
		return errors.New("--retry-for must be positive")
	}
	return nil
}

// settings returns the settings of a transfer that the flags determine.
func (f *transferFlags) settings(env *Environment, endpoint *transfer.Endpoint, bar *progressBar) (*transfer.Config, error) {
	cfg := &transfer.Config{
		Endpoint: endpoint, Segments: f.Segments, GiveUp: f.RetryFor, State: f.State,
		Report: func(message string) {
			bar.clear()
			fmt.Fprintln(env.Stderr, strings.ReplaceAll(message, "\n", " "))
		},
		Progress: func(t transfer.Totals) { bar.showText(transferText(&t), t.Part) },
	}
	if f.Anonymise == "" {
		return cfg, nil
	}
	data, err := os.ReadFile(f.Anonymise)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	cfg.Rules, err = anonymise.Parse(f.Anonymise, data, env.Lookup)
	return cfg, err
}

// transferText returns the counts for the progress bar.
func transferText(t *transfer.Totals) string {
	seconds := max(t.Seconds, 0.001)
	text := fmt.Sprintf("%d items, %s, %.0f/s", t.Items+t.Deleted, byteText(t.Bytes), float64(t.Items+t.Deleted)/seconds)
	if t.Retries > 0 {
		text += fmt.Sprintf(", %d sent again", t.Retries)
	}
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	return text
}

// byteText returns a number of bytes for people.
func byteText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// outcome prints the counts of a transfer, and returns the error that ends the command.
func (f *transferFlags) outcome(env *Environment, t *transfer.Totals, err error) error {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return refused(problems, env)
	}
	if f.JSON {
		line := struct {
			*transfer.Totals
			Error string `json:"error,omitempty"`
		}{Totals: t}
		if err != nil {
			line.Error = err.Error()
		}
		if e := json.NewEncoder(env.Stdout).Encode(line); e != nil {
			return errors.Join(err, e)
		}
	}
	if err != nil && t.Items+t.Deleted == 0 {
		return err
	}
	text := transferText(t)
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d done before", t.Skipped)
	}
	fmt.Fprintf(env.Stderr, "%s: %s, in %.1f s\n", tablesText(t.Tables), text, t.Seconds)
	if err == nil && t.Failed > 0 {
		return fail(codeInput, nil) // the records were printed
	}
	return err
}

// interrupted returns the error of a transfer that a signal has ended.
func interrupted(continues bool) error {
	if continues {
		return errors.New("interrupted; the same command continues")
	}
	return errors.New("interrupted")
}

// tablesText returns the names of some tables, or their number.
func tablesText(names []string) string {
	if len(names) > 5 {
		return fmt.Sprintf("%d tables", len(names))
	}
	return strings.Join(names, ", ")
}
