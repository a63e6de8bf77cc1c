package dax

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// The key that all clients sign with and that Kasoku verifies.
const (
	keyID  = "APPLICATION"
	secret = "a secret shared by clients and Kasoku"
)

// driver runs a DAX client in its language.
type driver struct {
	name    string
	program string
	args    []string
	env     []string // in addition to the key
}

// drivers returns all drivers, at the versions that the set-up scripts pin.
func drivers() []driver {
	home := filepath.Join(harness.Root(), "integration", "dax")
	tools := harness.Tools()
	node := func(name, kind string) driver {
		return driver{name, "node", []string{filepath.Join(home, "js", "driver.js"), kind},
			[]string{"NODE_PATH=" + filepath.Join(tools, "node-dax", "node_modules"), "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE=1"}}
	}
	java := filepath.Join(tools, "dax-java")
	return []driver{
		{"python", filepath.Join(tools, "python", "bin", "python"), []string{filepath.Join(home, "python", "driver.py")}, nil},
		node("javascript2", "v2"),
		node("javascript3", "v3"),
		node("document", "document"),
		{"java", "java", []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", filepath.Join(java, "classes") + ":" + filepath.Join(java, "lib", "*"), "Driver"}, nil},
	}
}

// supports reports whether the client supports a step. The document clients don't convert values
// in legacy parameters.
func (c driver) supports(s step) bool {
	return c.name != "document" || !bytes.Contains(s.Params, []byte("AttributeValueList")) && !bytes.Contains(s.Params, []byte("AttributeUpdates"))
}

// start returns the command of the client's driver, which reads its steps from standard
// input.
func (c driver) start(ctx context.Context, dax, endpoint, daxPrefix, plainPrefix string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program, append(c.args[:len(c.args):len(c.args)], dax, endpoint, daxPrefix, plainPrefix)...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+secret,
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true")
	cmd.Env = append(cmd.Env, c.env...)
	return cmd
}

// run executes all steps with the client, through dax and at endpoint, and returns its
// lines, with the same table names for both.
func (c driver) run(t *testing.T, dax, endpoint, run string, steps []byte) ([]answer, error) {
	through, direct := c.name+"-"+run+"-x-", c.name+"-"+run+"-y-"
	// Some clients wait forever if there is no reply.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := c.start(ctx, dax, endpoint, through, direct)
	cmd.Stdin = bytes.NewReader(steps)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w (is it installed? make tools)\n%s\nlast lines: %s", c.name, err, &errs, tail(out.Bytes()))
	}
	return read(strings.NewReplacer(through, "RUN-", direct, "RUN-").Replace(out.String()))
}

func tail(b []byte) []byte { return b[max(0, len(b)-500):] }
