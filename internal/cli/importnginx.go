package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/nginxconf"
	"github.com/kasoku/kasoku/internal/nginximport"
)

type importNginx struct {
	File string `arg:"" placeholder:"FILE" help:"nginx's configuration, or the part of it that is about memcached."`
}

func (c *importNginx) Run(env *Environment) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	conf, err := nginxconf.Parse(c.File, data)
	if err != nil {
		return err
	}
	made := nginximport.Translate(c.File, conf)
	for _, n := range made.Notes {
		if n.Line > 0 {
			fmt.Fprintf(env.Stderr, "%s:%d: %s\n", c.File, n.Line, n.Text)
		}
	}
	if made.Services == 0 {
		return fmt.Errorf("%s has no location with memcached_pass that could be translated; it has %s", c.File, made.Found)
	}
	if _, err := config.Parse(c.File, []byte(made.YAML), env.Lookup); err != nil {
		return fmt.Errorf("%s makes no configuration: %w", c.File, err)
	}
	_, err = io.WriteString(env.Stdout, made.YAML)
	return err
}
