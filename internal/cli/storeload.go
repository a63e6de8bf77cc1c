package cli

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/transfer"
)

type storeLoad struct {
	endpointFlags
	Sources      []string `arg:"" optional:"" name:"source" help:"Files, directories with files, and exports of AWS. Names end with .json, .jsonl, .ndjson, .ion or .csv, and .gz if they are compressed."`
	From         string   `help:"Copy tables from this store instead: a URL, or unix:/path." placeholder:"URL"`
	Table        []string `sep:"none" help:"The table to load into; default: that of the export or description, or the file's name. With --from, a table to copy; may be repeated; default: all." placeholder:"NAME"`
	Parallel     int      `help:"The number of batches that are written at the same time; default: ${default}." default:"8" placeholder:"N"`
	KeepGoing    bool     `help:"Report items that can't be written, and continue. Without it, the first one ends the command."`
	Consistent   bool     `help:"With --from, read consistently."`
	CSVTypes     string   `name:"csv-types" help:"Types of columns of CSV files, such as id=S,n=N,tags=SS. Without one, key attributes have the table's type, and all others are strings." placeholder:"TYPES"`
	CSVDelimiter string   `name:"csv-delimiter" help:"The delimiter of CSV files; default: a comma." placeholder:"CHAR"`
	CSVHeader    []string `name:"csv-header" help:"The names of the columns, if the first line of CSV files does not have them." placeholder:"NAMES"`
	transferFlags
}

// Validate is called by kong after parsing.
func (c *storeLoad) Validate() error {
	switch {
	case (len(c.Sources) == 0) == (c.From == ""):
		return errors.New("give either files or --from")
	case c.From == "" && len(c.Table) > 1:
		return errors.New("--table can be repeated only with --from")
	case c.From == "" && c.Consistent:
		return errors.New("--consistent is for --from")
	case c.Parallel < 1 || c.Parallel > maxParallel:
		return fmt.Errorf("--parallel must be from 1 to %d", maxParallel)
	}
	return c.check()
}

func (c *storeLoad) Run(env *Environment) error {
	endpoint, err := c.endpoint(env)
	if err != nil {
		return err
	}
	bar := newProgressBar(env)
	cfg, err := c.settings(env, endpoint, bar)
	if err != nil {
		return refused(err, env)
	}
	if cfg.CSV, err = c.csv(); err != nil {
		return err
	}
	cfg.Tables, cfg.Parallel, cfg.KeepGoing, cfg.Consistent = c.Table, c.Parallel, c.KeepGoing, c.Consistent
	ctx, cancel := untilSignal(env)
	defer cancel()
	var totals transfer.Totals
	if c.From != "" {
		if cfg.From, err = transfer.NewEndpoint(c.From, c.region(env, "")); err != nil {
			return err
		}
		totals, err = transfer.Copy(ctx, cfg)
	} else {
		totals, err = transfer.Load(ctx, cfg, c.Sources)
	}
	bar.clear()
	if err != nil && ctx.Err() != nil {
		err = interrupted(c.From == "" || c.State != "")
	}
	return c.outcome(env, &totals, err)
}

// csv returns the options of CSV files.
func (c *storeLoad) csv() (o transfer.CSV, err error) {
	if c.CSVTypes != "" {
		if o.Types, err = transfer.ParseTypes(c.CSVTypes); err != nil {
			return o, fmt.Errorf("--csv-types: %w", err)
		}
	}
	if d := c.CSVDelimiter; d == `\t` || d == "tab" {
		o.Delimiter = '\t'
	} else if d != "" {
		if utf8.RuneCountInString(d) != 1 {
			return o, fmt.Errorf("--csv-delimiter: %q is not one character", d)
		}
		o.Delimiter, _ = utf8.DecodeRuneInString(d)
	}
	o.Header = c.CSVHeader
	return o, o.Check()
}
