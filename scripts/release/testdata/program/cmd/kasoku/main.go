// Command kasoku has the output that a release needs, and compiles in a moment.
package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/kasoku/kasoku/internal/cli"
)

func main() {
	if os.Args[1] == "version" {
		json.NewEncoder(os.Stdout).Encode(map[string]string{"version": cli.Release(), "revision": cli.Commit()})
		return
	}
	os.Stdout.WriteString(strings.Join(os.Args[1:], " ") + "\n")
}
