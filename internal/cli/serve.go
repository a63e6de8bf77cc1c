package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/config"
)

type serveCommand struct {
	Config string `short:"c" help:"The file; default: kasoku.yaml in the working directory." placeholder:"FILE"`
}

func (c *serveCommand) Run(env *Environment) error {
	file := c.Config
	if file == "" {
		file = "kasoku.yaml"
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fail(codeUsage, errNoFile)
		}
	}
	cfg, err := load(file, env)
	if err != nil {
		return refused(err, env)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, nil))
	slog.SetDefault(log)
	n, err := start(cfg, file, env.Stdout, log)
	if err != nil {
		return fail(codeStart, err)
	}
	if env.Started != nil {
		env.Started(n)
	}
	return n.run(env, file)
}

// run waits for signals until one of them, or a listener that fails, ends the
// node.
func (n *Node) run(env *Environment, file string) error {
	go n.warnWithoutCredentials(origins(n.boot))
	for {
		select {
		case err := <-n.failed:
			n.log.Error("a listener failed, stopping", "error", err)
			return errors.Join(err, n.stop(env))
		case s := <-env.Signals:
			if s != syscall.SIGHUP {
				n.log.Info("stopping: requests under way are answered", "signal", s.String(), "timeout", stopTimeout.String())
				return n.stop(env)
			}
			if err := n.Reload(func() (*config.Config, error) { return load(file, env) }); err != nil {
				n.log.Error(err.Error())
			}
		}
	}
}

// stop drains; another signal to stop cuts it short.
func (n *Node) stop(env *Environment) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	go func() {
		for {
			select {
			case s := <-env.Signals:
				if s != syscall.SIGHUP {
					cancel()
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := n.Stop(ctx); err != nil {
		n.log.Warn("stopped before everything was answered", "error", err)
		return nil
	}
	n.log.Info("stopped")
	return nil
}

// origins are the addresses of all origins, each once.
func origins(cfg *config.Config) (list []string) {
	for i := range cfg.Services {
		if d := cfg.Services[i].DynamoDB; d != nil && !slices.Contains(list, string(d.Origin)) {
			list = append(list, string(d.Origin))
		}
	}
	return list
}

// warnWithoutCredentials looks early for what would fail every request that
// goes to an origin.
func (n *Node) warnWithoutCredentials(origins []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	for _, o := range origins {
		p, err := originCredentials(o)
		if err == nil {
			_, err = p.Retrieve(ctx)
		}
		if err != nil {
			n.log.Warn("there are no credentials for an origin: requests that the cache can't answer will fail. "+
				"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role", "origin", o, "error", err)
		}
	}
}

// errNoFile asks for a configuration in the way that helps most.
var errNoFile = errors.New(`there is no kasoku.yaml here, and none was named with -c. A file to begin with:

services:
  orders:
    type: dynamodb
    listen: 127.0.0.1:8000
    origin: https://dynamodb.eu-west-1.amazonaws.com   # or http://127.0.0.1:8001 with region: local
    auth: {mode: none}                                 # for this machine alone; else keys, see docs/configuration.md

Then: kasoku serve -c kasoku.yaml`)
