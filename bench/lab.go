package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/load"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

// lab holds the programs, the running servers and the results so far.
type lab struct {
	ctx    context.Context
	plan   plan
	only   []string
	report *report

	root   string // of the module
	dir    string // scratch folder
	floor  string // paths of the programs
	origin string
	kasoku string

	running []*proc.Process
}

func newLab(ctx context.Context, p plan, only []string, binary string, r *report) (*lab, error) {
	gomod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	l := &lab{ctx: ctx, plan: p, only: only, report: r, root: filepath.Dir(strings.TrimSpace(string(gomod)))}
	if l.dir, err = os.MkdirTemp("", "kasoku-bench-"); err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	if err := l.build(binary); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) build(binary string) error {
	l.floor, l.origin, l.kasoku = filepath.Join(l.dir, "floor"), filepath.Join(l.dir, "origin"), filepath.Join(l.dir, "kasoku")
	builds := [][2]string{{l.floor, "./bench/floor"}, {l.origin, "./bench/origin"}}
	if binary != "" {
		l.kasoku = binary
	} else {
		builds = append(builds, [2]string{l.kasoku, "./cmd/kasoku"})
	}
	for _, b := range builds {
		if err := l.compile(b[0], b[1]); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) compile(file, program string) error { return l.compileIn(l.root, file, program) }

// compileIn builds a program of the module in folder, as it is released.
func (l *lab) compileIn(folder, file, program string) error {
	progress("building %s", program)
	cmd := exec.CommandContext(l.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, program)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", program, err, out)
	}
	return nil
}

func (l *lab) close() {
	l.stopAll()
	os.RemoveAll(l.dir)
}

func (l *lab) stopAll() {
	for _, p := range l.running {
		p.Stop()
	}
	l.running = nil
}

func (l *lab) start(c proc.Command) (*proc.Process, error) {
	c.Dir = l.dir
	p, err := proc.Start(c)
	if err != nil {
		return nil, err
	}
	l.running = append(l.running, p)
	return p, nil
}

func (l *lab) startFloor(name string, args ...string) (*proc.Process, error) {
	return l.start(proc.Command{Name: name, Args: append([]string{l.floor}, args...)})
}

func (l *lab) startOrigin() (*proc.Process, error) {
	return l.start(proc.Command{Name: "origin", Args: []string{l.origin}})
}

// errNoDynamo reports that DynamoDB Local is not installed. It is left out, which is not a
// failure.
var errNoDynamo = errors.New("DynamoDB Local is not installed below .tools (make tools fetches it)")

// launchDynamo starts an empty DynamoDB Local in memory, with a maximum heap size in Java's
// notation.
func (l *lab) launchDynamo(heap string) (*proc.Process, error) {
	home := filepath.Join(l.root, ".tools", "dynamodb-local")
	if _, err := os.Stat(filepath.Join(home, "classes")); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoDynamo
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	return l.start(proc.Command{Name: "dynamodb-local", Addr: addr, Args: []string{
		"java", "-Xmx" + heap, "-cp", filepath.Join(home, "classes") + ":" + filepath.Join(home, "lib") + "/*", "LoopbackDynamoDB",
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
	}})
}

// startDynamo starts DynamoDB Local with the items for comparing peers, and sends requests
// until Java has compiled the hot code.
func (l *lab) startDynamo() (*proc.Process, error) {
	p, err := l.launchDynamo("1g")
	if err != nil {
		return nil, err
	}
	progress("filling DynamoDB Local with %d items", l.plan.items)
	set := dataset.Even
	if err := l.load(p.Addr, set.CreateTable(), l.plan.items, set.AppendBatchPut); err != nil {
		return nil, err
	}
	requests, err := getHits(l.plan.items)
	if err != nil {
		return nil, err
	}
	_, err = l.measure(loadSpec{conns: 32, round: l.plan.jit}, target{addr: p.Addr, proc: p, load: requests})
	return p, err
}

// load creates a table and stores n items in it; batch appends the body of a BatchWriteItem
// of n items from item i on.
func (l *lab) load(addr string, table []byte, n int, batch func(dst []byte, i, n int) []byte) error {
	if _, err := ask(addr, dataset.AppendRequest(nil, "CreateTable", table)); err != nil {
		return err
	}
	const each = 25
	result, err := load.Run(l.ctx, load.Config{
		Addr: addr, Conns: 16, Count: uint64(n / each), Timeout: time.Minute,
		Next: numbered(func(dst []byte, k int) []byte {
			return dataset.AppendRequest(dst, "BatchWriteItem", batch(nil, k*each, each))
		}),
		Check: allProcessed,
	})
	if err = errors.Join(err, result.Err); err != nil {
		return fmt.Errorf("fill %s: %w", addr, err)
	}
	return nil
}

// allProcessed accepts the answer to a BatchWriteItem without unprocessed items.
func allProcessed(_, status int, body []byte) error {
	if status != 200 || !bytes.Contains(body, []byte(`"UnprocessedItems":{}`)) {
		return fmt.Errorf("status %d: %.200q", status, body)
	}
	return nil
}

// ask sends one request on a new connection and returns the answer's body. The status must
// be 200.
func ask(addr string, request []byte) ([]byte, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", addr, err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write(request); err != nil {
		return nil, fmt.Errorf("query %s: %w", addr, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", addr, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", addr, err)
	}
	if answer.StatusCode != 200 {
		return nil, fmt.Errorf("answer of %s: %s: %.300s", addr, answer.Status, body)
	}
	return body, nil
}

func get(addr, path string) ([]byte, error) {
	return ask(addr, []byte("GET "+path+" HTTP/1.1\r\nHost: "+addr+"\r\nConnection: close\r\n\r\n"))
}

// originReads returns the number of reads that the origin has answered, or 0 without an
// origin.
func originReads(origin *proc.Process) (uint64, error) {
	if origin == nil {
		return 0, nil
	}
	body, err := get(origin.Addr, "/counts")
	if err != nil {
		return 0, err
	}
	var counts map[string]uint64
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&counts); err != nil {
		return 0, fmt.Errorf("counts of the origin: %w", err)
	}
	return counts["GetItem"] + counts["Query"] + counts["BatchGetItem"] + counts["Object"], nil
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
