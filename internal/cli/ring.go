package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/memcached/key"
)

type ringCommand struct {
	Config  string   `short:"c" help:"The file; default: ${default}." default:"kasoku.yaml" placeholder:"FILE"`
	Service string   `help:"The service of type memcached, if the file has several." placeholder:"NAME"`
	JSON    bool     `help:"Print one object per line."`
	Keys    []string `arg:"" name:"key" help:"Keys, as the application writes them; - reads them from standard input, one per line."`
}

func (c *ringCommand) Run(env *Environment) error {
	// The ring does not depend on secrets, so they may be missing.
	lenient := *env
	lenient.Lookup = func(name string) (string, bool) {
		if value, ok := env.Lookup(name); ok && value != "" {
			return value, true
		}
		return "unset", true
	}
	cfg, err := load(c.Config, &lenient)
	if err != nil {
		return refused(err, env)
	}
	m, err := c.service(cfg)
	if err != nil {
		return err
	}
	l, err := newLocator(m)
	if err != nil {
		return err
	}
	t := newRingPrinter(l, env)
	t.json = c.JSON
	for _, k := range c.Keys {
		if k == "-" {
			err = t.lines(env.Stdin)
		} else {
			err = t.print(k)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, t.out.Flush()); err == nil && t.refused {
		return fail(codeInput, nil)
	}
	return err
}

// service returns the selected service, or the only one.
func (c *ringCommand) service(cfg *config.Config) (*config.Memcached, error) {
	var names []string
	var last *config.Memcached
	for i := range cfg.Services {
		s := &cfg.Services[i]
		if s.Memcached == nil {
			continue
		}
		if s.Name == c.Service {
			return s.Memcached, nil
		}
		names, last = append(names, s.Name), s.Memcached
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no service of type memcached", c.Config)
	case c.Service != "":
		return nil, fmt.Errorf("%s has no service of type memcached called %q; there are %s", c.Config, c.Service, strings.Join(names, ", "))
	case len(names) > 1:
		return nil, fmt.Errorf("%s has several services of type memcached; choose one with --service: %s", c.Config, strings.Join(names, ", "))
	}
	return last, nil
}

// ringPrinter prints the servers of keys.
type ringPrinter struct {
	*locator
	json    bool
	out     *bufio.Writer
	objects *json.Encoder // writes to out
	err     io.Writer
	refused bool // a key was refused
}

func newRingPrinter(l *locator, env *Environment) *ringPrinter {
	t := &ringPrinter{locator: l, out: bufio.NewWriter(env.Stdout), err: env.Stderr}
	t.objects = json.NewEncoder(t.out)
	t.objects.SetEscapeHTML(false)
	return t
}

// maxLine is the maximum length of a line with a key. Keys that are hashed because of their
// length may be longer than memcached's limit.
const maxLine = 64 << 10

// lines prints the server of the key in each line of r. It flushes the output before it
// waits for r, so that a program can write and read in turns.
func (t *ringPrinter) lines(r io.Reader) error {
	in := bufio.NewReaderSize(r, maxLine)
	for n := 1; ; n++ {
		if in.Buffered() == 0 {
			if err := t.out.Flush(); err != nil {
				return err
			}
		}
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d of standard input is longer than %d bytes", n, maxLine)
		case err != nil && err != io.EOF:
			return fmt.Errorf("read standard input: %w", err)
		case err == io.EOF && len(line) == 0:
			return nil
		}
		if err := t.print(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")); err != nil {
			return err
		}
	}
}

func (t *ringPrinter) print(bare string) error {
	place, trouble := t.find(bare)
	t.refused = t.refused || trouble != key.OK
	if t.json {
		return t.objects.Encode(place)
	}
	if trouble != key.OK {
		_, err := fmt.Fprintf(t.err, "kasoku: %s: %s\n", strconv.Quote(bare), refusals[trouble])
		return err
	}
	return t.line(place)
}

func (t *ringPrinter) line(place admin.RingPlace) error {
	name := place.Key
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		name = strconv.Quote(name) // it is only escaped for memcached
	}
	_, err := fmt.Fprintf(t.out, "%s\t%d\t%d\t%s\n", name, place.Hash, place.Point, place.Server)
	return err
}

// refusals are the reasons why memcached refuses a key.
var refusals = map[key.Trouble]string{
	key.Empty:   "an empty key",
	key.BadByte: "it has a space or a control character, which memcached does not allow in keys",
	key.TooLong: fmt.Sprintf("it is longer than memcached's %d bytes, with the namespace", key.MaxLength),
}
