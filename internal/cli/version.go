package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

type versionCommand struct {
	JSON bool `help:"Print JSON."`
}

// release and commit are set by the linker for released binaries: the version of the changelog
// and the revision. scripts/release sets them.
var release, commit string

// build identifies the build.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: release, Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version != "" {
		return b
	}
	if b.Version = info.Main.Version; b.Version == "" {
		b.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (c *versionCommand) Run(env *Environment) error {
	b := thisBuild()
	if c.JSON {
		return json.NewEncoder(env.Stdout).Encode(b)
	}
	fmt.Fprintln(env.Stdout, b)
	return nil
}

func (b build) String() string { return fmt.Sprintf("kasoku %s %s %s", b.Version, b.Go, b.Platform) }

// versionFlag prints the version instead of running a command.
type versionFlag bool

// BeforeReset is called by kong when it finds the flag.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, thisBuild())
	app.Exit(codeOK)
	return nil
}
