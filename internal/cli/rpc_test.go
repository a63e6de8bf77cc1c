package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// rpc runs a program that answers JSON-RPC on its standard output: rpc FILE PROGRAM ARGUMENT...
// Each line of the file is sent once the one before is answered. It prints the answers, and fails
// if the program writes anything else or does not end with its input. Lines that begin with # are
// left out.
func rpc() {
	if err := runRPC(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "rpc:", err)
		os.Exit(1)
	}
}

func runRPC(file string, command []string) error {
	requests, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answers := bufio.NewReader(out)
	for line := range bytes.Lines(requests) {
		if bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		if _, err := in.Write(line); err != nil {
			return err
		}
		var request struct{ ID *int }
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if request.ID == nil {
			continue
		}
		answer, err := answers.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s has no answer: %w", line, err)
		}
		var parsed struct {
			JSONRPC string
			ID      *int
		}
		if err := json.Unmarshal(answer, &parsed); err != nil || parsed.JSONRPC != "2.0" || parsed.ID == nil || *parsed.ID != *request.ID {
			return fmt.Errorf("%s is answered with %s", line, answer)
		}
		os.Stdout.Write(answer)
	}
	in.Close()
	rest, err := io.ReadAll(answers)
	if err != nil || len(rest) > 0 {
		return fmt.Errorf("unexpected output: %s, %w", rest, err)
	}
	return cmd.Wait()
}
