package config

import (
	"path/filepath"
	"reflect"
	"slices"
)

// Parse decodes and checks the content of a file, and resolves its secrets; env looks up
// environment variables. The error is a [Problems].
func Parse(file string, data []byte, env func(string) (string, bool)) (*Config, error) {
	c := Default()
	c.dir = filepath.Dir(file)
	d := &decoder{file: file, env: env, used: redactor{}, needs: "a service"}
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
