package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/systemd"
)

// startPagesAfter is how long after the start the memory that only the start needed is released.
const startPagesAfter = time.Second

type serveCommand struct {
	Config    string    `short:"c" help:"The file; default: kasoku.yaml in the working directory. Without one, serve runs a DynamoDB-compatible store in ./kasoku-data, on 127.0.0.1:8000 and for DAX clients on 127.0.0.1:8111." placeholder:"FILE"`
	ReadyFile readyFile `name:"ready-file" help:"Write a file with all addresses, as JSON, when they answer. It is removed at the start and at the end." placeholder:"FILE"`
	Standard  standard  `embed:""`
}

func (c *serveCommand) Run(env *Environment) error {
	file, read, err := c.source(env)
	if err != nil {
		return err
	}
	cfg, err := read()
	if err != nil {
		return refused(err, env)
	}
	if err := c.ReadyFile.remove(); err != nil {
		return fail(codeStart, err)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, nil))
	slog.SetDefault(log)
	manager, err := systemd.FromEnvironment()
	if err != nil {
		log.Error("the service manager's variables are not all used", "error", err)
	}
	n, err := startManaged(cfg, file, env.Stdout, log, manager)
	if err != nil {
		return fail(codeStart, err)
	}
	for _, s := range manager.Unused() {
		log.Error("an inherited socket has the address of no listener", "socket", s)
	}
	if err := errors.Join(n.createTables(c.Standard.Schema), n.setFaults(env, c.Standard.Faults)); err != nil {
		return fail(codeInput, errors.Join(err, n.stop(env)))
	}
	defer guardHeap(int64(cfg.Cache.Limit()), n.cache.Held, n.cache.Budget().Pressed)()
	if file == "" {
		name := cfg.Services[0].Name
		c.Standard.greet(env.Stderr, n.ServiceAddr(name), n.DAXAddr(name))
	}
	if env.Started != nil {
		env.Started(n)
	}
	defer time.AfterFunc(startPagesAfter, func() {
		if err := releaseStartPages(); err != nil {
			log.Debug("the memory that only the start needed is not released", "error", err)
		}
	}).Stop()
	if err := c.ReadyFile.write(n.ready()); err != nil {
		return fail(codeStart, errors.Join(err, n.stop(env)))
	}
	return errors.Join(n.run(env, read), c.ReadyFile.remove())
}

// source returns the source of the configuration: the given file, or the default file, or,
// with an empty name, the built-in configuration, which is also used if it has flags.
func (c *serveCommand) source(env *Environment) (file string, read func() (*config.Config, error), err error) {
	builtIn := func() (*config.Config, error) { return c.Standard.parse(env) }
	const usual = "kasoku.yaml"
	flags := c.Standard.given()
	switch _, err := os.Stat(usual); {
	case c.Config != "" && len(flags) > 0:
		return "", nil, fail(codeUsage, fmt.Errorf("%s: only without a file: the file that -c names has this setting", strings.Join(flags, ", ")))
	case c.Config != "":
		file = c.Config
	case errors.Is(err, fs.ErrNotExist):
		return "", builtIn, nil
	case len(flags) > 0:
		fmt.Fprintf(env.Stderr, "%s is not used, because of %s\n", usual, strings.Join(flags, ", "))
		return "", builtIn, nil
	default:
		file = usual
	}
	return file, func() (*config.Config, error) { return load(file, env) }, nil
}

// run waits for a signal to stop or a failing listener, and then stops the node. read reads
// the configuration for a reload.
func (n *Node) run(env *Environment, read func() (*config.Config, error)) error {
	go n.warnWithoutCredentials(origins(n.boot))
	defer n.attendWatchdog()()
	opened := n.opened()
	for {
		select {
		case <-opened:
			opened = nil
			n.reportReady()
		case err := <-n.failed:
			n.log.Error("a listener failed, stopping", "error", err)
			return errors.Join(err, n.stop(env))
		case s := <-env.Signals:
			if s != syscall.SIGHUP {
				n.log.Info("stopping: answering the requests in flight", "signal", s.String(), "timeout", stopTimeout.String())
				return n.stop(env)
			}
			if opened != nil { // the end of a reload would be taken for that of the start
				<-opened
				opened = nil
				n.reportReady()
			}
			n.reloadReported(read)
		}
	}
}

// stop drains the node; another signal to stop ends the drain.
func (n *Node) stop(env *Environment) error {
	n.report(n.manager.Stopping())
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

// origins returns the addresses of all remote origins, each once.
func origins(cfg *config.Config) (list []string) {
	for i := range cfg.Services {
		d := cfg.Services[i].DynamoDB
		if d != nil && !d.Origin.Embedded() && !slices.Contains(list, string(d.Origin)) {
			list = append(list, string(d.Origin))
		}
	}
	return list
}

// warnWithoutCredentials logs a warning at the start if credentials are missing, since every
// request to an origin would fail.
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
