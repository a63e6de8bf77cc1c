package cli

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// byKong returns the command serve as kong parses it; nil for a mistake or for help.
func byKong(args []string) (c *serveCommand) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exited); !ok {
				panic(r)
			}
		}
	}()
	all := &commands{}
	if _, err := newParser(&Environment{Stdout: io.Discard, Stderr: io.Discard}, all).Parse(args); err != nil {
		return nil
	}
	return &all.Serve
}

// A command line that serveOf accepts has the meaning that kong's parser finds in it.
func TestServeOfKong(t *testing.T) {
	words := rapid.SampledFrom([]string{
		"--memory", "--memory=", "--memory=false", "--data", "--data=d", "d", "--port", "--port=0", "0", "8000", "010", "0x1f", "1_000", "-1", "--port=-1", "--port=",
		"--listen", "--listen=:8", ":8", "--dax", "--no-dax", "--admin", "--admin=:9", "--schema", "--schema=a", "a,b", "--faults=f", "--insecure",
		"--namespaces=key", "--namespaces", "-c", "-c=f", "-cf", "f=g", "--config", "--config=f", "--ready-file", "--ready-file=r", "--help", "--version", "--", "-", "",
		"serve", "--data=a=b", "--data=-x", "--Memory", "--unknown", "${port}",
	})
	rapid.Check(t, func(t *rapid.T) {
		args := append([]string{"serve"}, rapid.SliceOfN(words, 0, 5).Draw(t, "args")...)
		got, ok := serveOf(args)
		if !ok {
			return
		}
		if want := byKong(args); want == nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %+v, kong %+v", args, got, want)
		}
	})
}

// The usual command lines need no other parser.
func TestServeOf(t *testing.T) {
	for _, line := range []string{
		"serve", "serve -c kasoku.yaml", "serve --config=kasoku.yaml", "serve --ready-file ready.json",
		"serve --memory --port 0 --no-dax --admin 127.0.0.1:0", "serve --data=dir --listen :8000 --dax :8111 --insecure --faults f",
	} {
		if c, ok := serveOf(strings.Fields(line)); !ok || !reflect.DeepEqual(c, byKong(strings.Fields(line))) {
			t.Errorf("%s: got %+v, %v", line, c, ok)
		}
	}
	for _, line := range []string{"", "version", "check -c kasoku.yaml", "--version", "serve --help", "serve --memory --data d", "serve x"} {
		if c, ok := serveOf(strings.Fields(line)); ok {
			t.Errorf("%s: got %+v", line, c)
		}
	}
}
