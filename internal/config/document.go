package config

import (
	"path/filepath"
	"reflect"
	"slices"
)

// Document is a YAML file of another kind than the configuration, decoded with the same rules
// and the same messages: mistakes have their places, and unknown words the most similar name.
type Document struct {
	decoder *decoder
	checker *checker
}

// Decode decodes a file into v, a pointer to a struct with the tags that this package's own
// structs have. needs names the least content, for the error about an empty file. It returns
// the document even if the file has mistakes, so that the caller can report those that it
// finds itself too. The document's Err returns all of them.
func Decode(file string, data []byte, env func(string) (string, bool), v any, needs string) *Document {
	d := &decoder{file: file, env: env, used: redactor{}, needs: needs}
	target := reflect.ValueOf(v).Elem()
	setDefaults(target, "")
	d.decode(data, target)
	return &Document{d, &checker{d, &Config{dir: filepath.Dir(file)}}}
}

// Failf reports a mistake at a path of the file, for example rules[0].path.
func (d *Document) Failf(path, format string, args ...any) { d.checker.failf(path, format, args...) }

// Secret returns the value that NAME_env or NAME_file refers to; at most one may be given.
// Both are keys at the top of the file.
func (d *Document) Secret(name, env, file string) string {
	return d.checker.secret("", name, env, file)
}

// Err returns the mistakes as Problems, in the order of the lines, or nil.
func (d *Document) Err() error {
	list := slices.Clone(d.decoder.problems)
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].Message = d.decoder.used.redact(list[i].Message)
	}
	list.sort()
	return slices.Compact(list)
}
