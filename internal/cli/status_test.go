package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// status is a program that prints the exit code of another one, for scripts.
func status() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin = os.Stdin
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("exit code %d\n", code)
}
