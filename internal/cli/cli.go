// Package cli implements the command line: it reads a configuration, builds and runs its
// services, or sends requests to the admin API of a running Kasoku.
//
// Output for people is written to standard error, output for programs to standard output.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes. Users' scripts rely on them.
const (
	codeOK    = 0
	codeInput = 1 // invalid input, or a failed check
	codeUsage = 2 // invalid command line
	codeStart = 3 // failure to start, for example because a port is in use
)

// Environment is the environment of a command.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // for serve: SIGHUP reloads, SIGTERM and SIGINT stop
	Lookup         func(name string) (string, bool)
	// Started, if not nil, is called by serve with the running node.
	Started func(n *Node)
}

// System returns the environment of the process.
func System() Environment {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Lookup: os.LookupEnv}
}

// commands defines the command line. A command is a struct with a Run method.
type commands struct {
	Serve      serveCommand      `cmd:"" help:"Run the services of a configuration file."`
	Check      checkCommand      `cmd:"" help:"Print every mistake in a configuration file."`
	Purge      purgeCommand      `cmd:"" help:"Drop entries from the cache of a running Kasoku."`
	Warm       warmCommand       `cmd:"" help:"Fill the cache from a list of keys, or from another node of the cluster."`
	Drain      drainCommand      `cmd:"" help:"Stop new requests to an origin, or allow them again."`
	Explain    explainCommand    `cmd:"" help:"Explain why an answer is a hit or a miss."`
	Log        logCommand        `cmd:"" help:"Print the requests of a running Kasoku as they end."`
	Top        topCommand        `cmd:"" help:"Show services, tables and nodes of running Kasokus, with rates and times."`
	Keys       keysCommand       `cmd:"" help:"Print the keys with the most requests, misses, bytes or invalidations, and the throttled ones."`
	Ledger     ledgerCommand     `cmd:"" help:"Print the capacity units that requests have used and saved at the origins."`
	Verify     verifyCommand     `cmd:"" help:"Compare cached answers with strongly consistent reads of the origin."`
	Advise     adviseCommand     `cmd:"" help:"Print suggested settings, and the hit ratio with more or less memory."`
	Cluster    clusterCommand    `cmd:"" help:"Print the members of the cluster, or take one out."`
	Store      storeCommand      `cmd:"" help:"Load data into a DynamoDB-compatible store, or dump it; reset, save and restore an embedded one."`
	Fault      faultCommand      `cmd:"" help:"Inject faults into an embedded store."`
	Health     healthCommand     `cmd:"" help:"Exit with 0 if a running Kasoku answers requests, for example for a container."`
	MCP        mcpCommand        `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output: tools for the tables, and for the cache in front of them."`
	Ring       ringCommand       `cmd:"" help:"Print which memcached server has a key."`
	Import     importCommand     `cmd:"" help:"Print the configuration that replaces another program."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
	Completion completionCommand `cmd:"" help:"Print the script that completes commands and flags in a shell."`
	Help       helpCommand       `cmd:"" help:"Show the help of a command, or print the manual page."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// codeError is an error that ends the process with a code. If err is nil, the message has
// been printed already.
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

// exited unwinds the stack when kong ends the process, as for --help.
type exited int

// commandOf returns a new struct like commands with only the command that args begin with, or
// commands if they begin with none. Kong parses the tags of all fields, which for all commands
// takes a fifth of the time until serve answers.
func commandOf(args []string) any {
	all := reflect.TypeFor[commands]()
	for i := range all.NumField() {
		f := all.Field(i)
		if _, ok := f.Tag.Lookup("cmd"); ok && len(args) > 0 && args[0] == strings.ToLower(f.Name) {
			version, _ := all.FieldByName("ShowVersion")
			return reflect.New(reflect.StructOf([]reflect.StructField{f, version})).Interface()
		}
	}
	return &commands{}
}

// newParser returns a parser of the given struct of commands.
func newParser(env *Environment, model any) *kong.Kong {
	parser, err := kong.New(model,
		kong.Name("kasoku"),
		kong.Description("A caching accelerator in front of NoSQL-backed HTTP APIs."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(env),
	)
	if err != nil {
		panic(err) // the struct of the commands is invalid
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
	run, err := prepared(args, &env)
	if err != nil {
		fmt.Fprintf(env.Stderr, "kasoku: %v\nTry: kasoku --help\n", err)
		return codeUsage
	}
	if err = run(); err == nil {
		return codeOK
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

// prepared returns the function that runs the command of a command line, or an error about a
// mistake in it.
func prepared(args []string, env *Environment) (run func() error, err error) {
	if c, ok := serveOf(args); ok {
		return func() error { return c.Run(env) }, nil
	}
	ctx, err := newParser(env, commandOf(args)).Parse(args)
	if err != nil {
		return nil, err
	}
	return func() error { return ctx.Run() }, nil
}
