package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/kasoku/kasoku/internal/config"
)

type checkCommand struct {
	Config string `short:"c" help:"The file; default: ${default}." default:"kasoku.yaml" placeholder:"FILE"`
	JSON   bool   `help:"Print the outcome as JSON on standard output."`
	Print  bool   `help:"Print the configuration with every default, as JSON without secrets, on standard output."`
}

// checkOutcome is the output of check --json.
type checkOutcome struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"`
	Problems []problem `json:"problems"`
}

type problem struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Source  string `json:"source,omitempty"` // the line of the file
}

func (c *checkCommand) Run(env *Environment) error {
	cfg, err := load(c.Config, env)
	if c.JSON {
		if e := json.NewEncoder(env.Stdout).Encode(c.outcome(err)); e != nil {
			return e
		}
	}
	if err != nil {
		if c.JSON {
			return fail(codeInput, nil)
		}
		return refused(err, env)
	}
	if c.Print {
		enc := json.NewEncoder(env.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(cfg)
	}
	if !c.JSON {
		fmt.Fprintf(env.Stderr, "%s: no mistakes\n", c.Config)
	}
	return nil
}

func (c *checkCommand) outcome(err error) checkOutcome {
	o := checkOutcome{File: c.Config, OK: err == nil, Problems: []problem{}}
	if list, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range list {
			o.Problems = append(o.Problems, problem{p.Line, p.Column, p.Path, p.Message, p.Source})
		}
	} else if err != nil {
		o.Problems = append(o.Problems, problem{Message: err.Error()})
	}
	return o
}

// load reads a file with the command's environment.
func load(file string, env *Environment) (*config.Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return config.Parse(file, data, env.Lookup)
}

// refused prints each mistake in a file with its position, in a form that editors recognise,
// and with the line and a caret under the column. It returns the error that ends the
// command.
func refused(err error, env *Environment) error {
	if ce, ok := errors.AsType[*codeError](err); ok {
		return ce
	}
	list, ok := errors.AsType[config.Problems](err)
	if !ok {
		return fail(codeInput, err)
	}
	for _, p := range list {
		fmt.Fprintln(env.Stderr, p)
		if excerpt := p.Excerpt(); excerpt != "" {
			fmt.Fprintln(env.Stderr, excerpt)
		}
	}
	if len(list) > 1 {
		fmt.Fprintf(env.Stderr, "%d mistakes\n", len(list))
	}
	return fail(codeInput, nil)
}
