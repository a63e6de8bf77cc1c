package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
)

// Load reads, decodes and checks a file, and resolves its secrets. The error is a [Problems]
// if the file could be read.
func Load(file string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		// The text of PathError is "open", which the user did not ask for.
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return nil, fmt.Errorf("read configuration %s: %w", file, err)
	}
	return Parse(file, data, os.LookupEnv)
}

// Parse is [Load] for a file with the given content; env looks up environment variables.
func Parse(file string, data []byte, env func(string) (string, bool)) (*Config, error) {
	c := Default()
	c.dir = filepath.Dir(file)
	d := &decoder{file: file, env: env, used: redactor{}}
	d.decode(data, reflect.ValueOf(c).Elem())
	(&checker{decoder: d, config: c}).check()
	if len(d.problems) > 0 {
		for i := range d.problems {
			d.problems[i].Message = d.used.redact(d.problems[i].Message)
		}
		d.problems.sort()
		return nil, slices.Compact(d.problems) // a place that is checked twice is reported twice
	}
	if secrets := d.used.secrets(); len(secrets) > 0 {
		c.hidden = secrets
	}
	return c, nil
}

// Default returns the configuration of an empty file, which has no services.
func Default() *Config {
	c := &Config{dir: "."}
	setDefaults(reflect.ValueOf(c).Elem(), "")
	return c
}

// Equal reports whether two configurations mean the same, secrets included.
func (c *Config) Equal(o *Config) bool { return reflect.DeepEqual(c, o) }
