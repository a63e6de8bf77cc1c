package cli

import (
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/transfer"
)

type storeDump struct {
	endpointFlags
	Directory  string   `arg:"" name:"dir" help:"The directory to write to. It is created if it is missing."`
	Table      []string `sep:"none" help:"A table to dump; may be repeated." placeholder:"NAME"`
	AllTables  bool     `help:"Dump all tables."`
	Consistent bool     `help:"Read consistently."`
	transferFlags
}

// Validate is called by kong after parsing.
func (c *storeDump) Validate() error {
	if (len(c.Table) == 0) != c.AllTables {
		return errors.New("give either --table or --all-tables")
	}
	return c.check()
}

func (c *storeDump) Run(env *Environment) error {
	endpoint, err := c.endpoint(env)
	if err != nil {
		return err
	}
	bar := newProgressBar(env)
	cfg, err := c.settings(env, endpoint, bar)
	if err != nil {
		return refused(err, env)
	}
	cfg.Tables, cfg.Consistent = c.Table, c.Consistent
	ctx, cancel := untilSignal(env)
	defer cancel()
	totals, err := transfer.Dump(ctx, cfg, c.Directory)
	bar.clear()
	if err != nil && ctx.Err() != nil {
		err = interrupted(true)
	}
	return c.outcome(env, &totals, err)
}
