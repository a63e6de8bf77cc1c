// Command kasoku is a caching accelerator in front of NoSQL-backed HTTP APIs.
package main

import (
	"os"

	"github.com/kasoku/kasoku/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.System())) }
