package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// targetNames are the systems that a release is for.
var targetNames = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64",
	"windows/amd64", "windows/arm64", "freebsd/amd64", "freebsd/arm64",
}

// target is a system and a processor, by Go's names.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program returns the file name of Kasoku's binary.
func (t target) program() string {
	if t.os == "windows" {
		return "kasoku.exe"
	}
	return "kasoku"
}

func parseTargets(list string) (targets []target, err error) {
	for _, name := range strings.Fields(list) {
		if !slices.Contains(targetNames, name) {
			return nil, fmt.Errorf("unknown target %q; the targets are %s", name, strings.Join(targetNames, ", "))
		}
		system, arch, _ := strings.Cut(name, "/")
		targets = append(targets, target{system, arch})
	}
	return targets, nil
}

// stamped is the package whose variables release and commit the linker sets.
const stamped = "github.com/kasoku/kasoku/internal/cli"

// maxBinary bounds the size of a binary. A dependency that makes it much larger should be a
// decision.
const maxBinary = 50 << 20

// build builds Kasoku for t below work, and returns the path of the binary. Nothing of the
// machine's environment or directories becomes part of it.
func (r *release) build(work string, t target) (string, error) {
	path := filepath.Join(work, t.os+"_"+t.arch, t.program())
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -X %s.release=%s -X %s.commit=%s", stamped, r.version, stamped, r.commit),
		"-o", path, "./cmd/kasoku")
	cmd.Dir, cmd.Env = r.root, r.environment(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %s: %w\n%s", t, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxBinary {
		return "", fmt.Errorf("the binary for %s has %d bytes, more than %d", t, info.Size(), maxBinary)
	}
	return path, nil
}

// environment returns the environment for Go's commands, without settings that change the
// binary. The modules of the workspace are those of the tree, if it has one.
func (r *release) environment(t target) []string {
	work, err := filepath.Abs(filepath.Join(r.root, "go.work"))
	if err == nil {
		_, err = os.Stat(work)
	}
	if err != nil {
		work = "off"
	}
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOWORK="+work, "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=off")
}

// host returns the system that this program runs on.
func host() target { return target{runtime.GOOS, runtime.GOARCH} }

// commonFiles returns the files of an archive that are the same for each target. Some of them
// are the output of a binary built for this machine.
func (r *release) commonFiles(work string, targets []target) ([]file, error) {
	binary, err := r.build(work, host())
	if err != nil {
		return nil, err
	}
	if err := r.checkStamp(binary); err != nil {
		return nil, err
	}
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, mode: 0o644, data: data})
	}
	notices, err := r.notices(targets)
	if err != nil {
		return nil, err
	}
	files = append(files, file{name: noticesFile, mode: 0o644, data: notices})
	for _, f := range []struct {
		name string
		args []string
	}{
		{bashFile, []string{"completion", "bash"}},
		{zshFile, []string{"completion", "zsh"}},
		{fishFile, []string{"completion", "fish"}},
		{manFile, []string{"help", "--man"}},
	} {
		data, err := exec.Command(binary, f.args...).Output()
		if err != nil {
			return nil, fmt.Errorf("kasoku %s: %w%s", strings.Join(f.args, " "), err, stderrOf(err))
		}
		files = append(files, file{name: f.name, mode: 0o644, data: data})
	}
	return files, nil
}

// Names of files in archives.
const (
	noticesFile = "THIRD-PARTY-NOTICES"
	bashFile    = "completions/kasoku.bash"
	zshFile     = "completions/_kasoku"
	fishFile    = "completions/kasoku.fish"
	manFile     = "man/kasoku.1"
)

// checkStamp checks that a binary reports the version and the commit of the release: the linker
// ignores names of variables that do not exist.
func (r *release) checkStamp(binary string) error {
	out, err := exec.Command(binary, "version", "--json").Output()
	if err != nil {
		return fmt.Errorf("kasoku version --json: %w%s", err, stderrOf(err))
	}
	var got struct{ Version, Revision string }
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("kasoku version --json: %w", err)
	}
	if got.Version != r.version || got.Revision != r.commit {
		return fmt.Errorf("kasoku version --json reports %q of %q, want %q of %q", got.Version, got.Revision, r.version, r.commit)
	}
	return nil
}
