package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	startMemoryScenario = "a store in memory, to its first answer"
	memoryStarts        = 20
	slowStarts          = 3 // of DynamoDB Local
)

// idleAfter is how long a store that has answered one request is left alone before its memory is
// measured.
const idleAfter = 2 * time.Second

// measureMemoryStart starts stores in memory again and again, with dynoxide among them if it is
// installed, and reports the time from the start of the process to the answer to its first request,
// the CPU time until then, and the memory of the process when it is idle.
func (l *lab) measureMemoryStart() error {
	progress("%s", startMemoryScenario)
	program, err := l.install(l.kasoku)
	if err != nil {
		return err
	}
	kasoku, err := l.starts(memoryStarts, func() (*proc.Process, error) { return l.startMemory(program) })
	if err != nil {
		return err
	}
	if dynoxide, err := exec.LookPath("dynoxide"); err == nil {
		program, err := l.install(dynoxide)
		if err != nil {
			return err
		}
		peer, err := l.starts(memoryStarts, func() (*proc.Process, error) { return l.startDynoxide(program) })
		if err != nil {
			return err
		}
		l.report.add(startMemoryScenario, nameDynoxide, nameKasoku, peer, kasoku[:len(peer)], "")
	}
	local, err := l.starts(slowStarts, func() (*proc.Process, error) { return l.launchDynamo("256m") })
	switch {
	case errors.Is(err, errNoDynamo):
		l.report.note("%s: %v", startMemoryScenario, err)
	case err != nil:
		return err
	default:
		l.report.add(startMemoryScenario, "DynamoDB Local", nameKasoku, local, kasoku[:len(local)], "")
	}
	l.report.add(startMemoryScenario, nameKasoku, nameKasoku, kasoku, kasoku, "the time is in the column p50")
	return nil
}

// install copies a program, and returns the path of the copy. A file that was written by a linker
// lies in the page cache in other pieces than one that was unpacked from a package, and its pages
// are mapped in more steps: a start takes up to 2 ms longer.
func (l *lab) install(program string) (path string, err error) {
	from, err := os.Open(program)
	if err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	defer from.Close()
	path = filepath.Join(l.dir, "installed-"+filepath.Base(program))
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	// Without the methods that let the kernel copy, which unpackers do not use.
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 32<<10))
	if err := errors.Join(err, to.Close()); err != nil {
		return "", fmt.Errorf("copy a program: %w", err)
	}
	return path, nil
}

// startMemory starts a Kasoku, whose program is at a path, with an empty store in memory.
func (l *lab) startMemory(program string) (*proc.Process, error) {
	return l.startStore("memory", func(port string) []string {
		return []string{program, "serve", "--memory", "--port", port, "--no-dax", "--admin", "127.0.0.1:0"}
	})
}

// startDynoxide starts an empty dynoxide, whose program is at a path.
func (l *lab) startDynoxide(program string) (*proc.Process, error) {
	return l.startStore("dynoxide", func(port string) []string { return []string{program, "serve", "--port", port} })
}

// startStore starts a store on a free port.
func (l *lab) startStore(name string, args func(port string) []string) (*proc.Process, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	return l.start(proc.Command{Name: name, Addr: addr, Args: args(port)})
}

// starts measures a number of starts.
func (l *lab) starts(n int, start func() (*proc.Process, error)) (samples []sample, err error) {
	for range n {
		s, err := l.oneStart(start)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, nil
}

func (l *lab) oneStart(start func() (*proc.Process, error)) (s sample, err error) {
	begun := time.Now()
	p, err := start()
	if err != nil {
		return s, err
	}
	defer l.stopAll()
	if _, err := ask(p.Addr, dataset.AppendRequest(nil, "ListTables", []byte("{}"))); err != nil {
		return s, err
	}
	s[p50] = float64(time.Since(begun))
	if spent, err := p.CPU(); err == nil {
		s[cpu] = float64(spent)
	}
	time.Sleep(idleAfter)
	if bytes, err := p.RSS(); err == nil {
		s[rss] = float64(bytes)
	}
	return s, nil
}
