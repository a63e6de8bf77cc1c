// Package cli is the command line: it reads a configuration, puts the services
// together that it describes, and runs them; or it talks to the admin API of a
// Kasoku that runs.
//
// What a person reads goes to standard error, what a program may read to
// standard output.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes. They are part of the contract with users' scripts.
const (
	codeWell  = 0
	codeInput = 1 // wrong input, or a check that failed
	codeUsage = 2 // the command line itself
	codeStart = 3 // could not start: a port that is taken, for instance
)

// Environment is what a command sees of the world.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // for serve: SIGHUP reloads, SIGTERM and SIGINT stop
	Lookup         func(name string) (string, bool)
	// Started, when not nil, is told the running node by serve.
	Started func(n *Node)
}

// System is the real world.
func System() Environment {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Lookup: os.LookupEnv}
}

// commands is the command line. A command is a struct with a Run method.
type commands struct {
	Serve      serveCommand      `cmd:"" help:"Run the services of a configuration file."`
	Check      checkCommand      `cmd:"" help:"Tell every mistake in a configuration file."`
	Purge      purgeCommand      `cmd:"" help:"Drop entries from the cache of a running Kasoku."`
	Drain      drainCommand      `cmd:"" help:"Let an origin have no new requests, or have them again."`
	Explain    explainCommand    `cmd:"" help:"Tell why an answer is a hit or a miss."`
	Ring       ringCommand       `cmd:"" help:"Tell which memcached server has a key."`
	Import     importCommand     `cmd:"" help:"Print the configuration that replaces another program."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
	Completion completionCommand `cmd:"" help:"Print the script that completes commands and flags in a shell."`
	Help       helpCommand       `cmd:"" help:"Show what a command does, or print the manual page."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// codeError is an error that ends the process with a code. An err of nil means
// that what there is to say has been said.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

func fail(code int, err error) error { return &codeError{code, err} }

// exited unwinds the stack when kong wants the process to end, as --help does.
type exited int

func newParser(env *Environment) *kong.Kong {
	parser, err := kong.New(&commands{},
		kong.Name("kasoku"),
		kong.Description("A caching accelerator in front of NoSQL-backed HTTP APIs."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(env),
	)
	if err != nil {
		panic(err) // the struct of the commands is wrong
	}
	return parser
}

// Main runs a command line and returns the exit code.
func Main(args []string, env Environment) (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	ctx, err := newParser(&env).Parse(args)
	if err != nil {
		fmt.Fprintf(env.Stderr, "kasoku: %v\nTry: kasoku --help\n", err)
		return codeUsage
	}
	err = ctx.Run()
	if err == nil {
		return codeWell
	}
	code = codeInput
	if ce, ok := errors.AsType[*codeError](err); ok {
		code, err = ce.code, ce.err
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "kasoku: %v\n", err)
	}
	return code
}
