package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"
)

const preface = `# Configuration

<!-- Made by "go generate ./internal/config" from the comments in internal/config; edit those. -->

Kasoku reads one YAML file, ` + "`kasoku.yaml`" + ` in the working directory or the one named with ` + "`-c`" + `.
` + "`kasoku check -c FILE`" + ` reports every mistake in it with its line, and ` + "`SIGHUP`" + ` makes a running
server read it again; a file with a mistake changes nothing. A key takes effect then, unless its
description requires a restart; [cli.md](cli.md) lists the state that survives.

- Lengths of time are written with a unit: ` + "`250ms`, `30s`, `5m`, `1h30m`, `7d`" + `.
- Sizes are bytes, or have a unit: ` + "`512KiB`, `256MiB`, `1GiB`" + `, or in powers of ten ` + "`2GB`" + `.
- Addresses are ` + "`host:port`" + `; ` + "`:8000`" + ` is every interface, ` + "`unix:/path`" + ` a Unix socket.
- Relative paths start at the directory of the file.
- Secrets are never in the file: it names an environment variable or another file.
- In a value, ` + "`${NAME}`" + ` is replaced by an environment variable, ` + "`${NAME:-text}`" + ` for text where that
  is not set or empty. Names are capital letters, digits and ` + "`_`" + `, so that a key such as ` + "`${arg.id}`" + `
  of a memcached service is not one. ` + "`$${NAME}`" + ` is the text ` + "`${NAME}`" + `. Between braces or brackets
  such a value needs quotes. Secrets belong in the keys that end in ` + "`_env`" + ` and ` + "`_file`" + `; of a
  variable whose name has SECRET, PASSW, TOKEN, CREDENTIAL or KEY in it, the name is shown instead
  of the value.
- A service has the keys of [` + "`services.<name>`" + `](#servicesname) and those of its type:
  [dynamodb](#servicesname-with-type-dynamodb), [http](#servicesname-with-type-http),
  [couchdb](#servicesname-with-type-couchdb) or [memcached](#servicesname-with-type-memcached).
- YAML anchors, aliases and merge keys work. An unknown key, or one given twice, is an error.

A minimal file:

` + "```yaml" + `
services:
  orders:
    type: dynamodb
    listen: 127.0.0.1:8000
    origin: https://dynamodb.eu-west-1.amazonaws.com
    auth: {mode: none}
` + "```" + `
`

// typeNames are the names of scalar types in the manual.
var typeNames = map[string]string{
	"Duration": "time", "Size": "size", "Address": "address", "Origin": "URL, embedded:DIR or embedded:memory", "URL": "URL", "Upstream": "URL or unix:///path", "RefreshAhead": "true, false or number", "StreamMode": "off, on or auto", "Rate": "rate", "ReadUnits": "read capacity units",
	"string": "text", "bool": "true or false", "int": "whole number", "float64": "number",
	"[]string": "list of text", "[]int": "list of whole numbers", "[]FluentdServer": "list of servers", "[]URL": "list of URLs",
	"[]Advertised": "list of host:port or hosts", "NodeAddress": "host:port or host", "[]NodeAddress": "list of host:port or hosts",
}

// sharedStructs are structs that several types of services use. They are described once.
var sharedStructs = map[string]bool{
	"Ejection": true, "Forwarded": true, "Hedge": true, "HTTPHealth": true, "HTTPOrigin": true, "JSONP": true, "TLS": true,
}

type generator struct {
	structs   map[string]*ast.StructType
	docs      map[string]string
	later     []string
	described map[string]string // section of a struct that is used in several places, by its name
	variant   string            // type of the service whose keys are written, "" for those of all
	out       bytes.Buffer
	err       error
}

// generate returns the page made from the Go files in dir.
func generate(dir string) ([]byte, error) {
	g := &generator{structs: make(map[string]*ast.StructType), docs: make(map[string]string), described: make(map[string]string)}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		g.collect(f)
	}
	if g.structs["Config"] == nil {
		return nil, fmt.Errorf("there is no type Config in %s", dir)
	}
	g.out.WriteString(preface)
	g.section("Config", "", "")
	if len(g.later) > 0 {
		g.out.WriteString("\n## Not available in this version\n\nThese keys are refused with a message:\n\n")
		for _, l := range g.later {
			fmt.Fprintf(&g.out, "- %s\n", l)
		}
	}
	return g.out.Bytes(), g.err
}

func (g *generator) collect(f *ast.File) {
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			ts := spec.(*ast.TypeSpec)
			if st, ok := ts.Type.(*ast.StructType); ok {
				g.structs[ts.Name.Name] = st
				g.docs[ts.Name.Name] = withoutName(flat(gen.Doc.Text()), ts.Name.Name)
			}
		}
	}
}

// withoutName removes the name of a type from the beginning of its comment, because users of
// the file do not have it, together with a verb that only introduces the rest.
func withoutName(doc, name string) string {
	rest, ok := strings.CutPrefix(doc, name+" ")
	if !ok || rest == "" {
		return doc
	}
	for _, verb := range []string{"is ", "holds ", "specifies "} {
		if after, ok := strings.CutPrefix(rest, verb); ok {
			rest = after
			break
		}
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// flat joins the lines of a comment; blank lines stay paragraphs.
func flat(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

// word matches a word with the code spans in it, which are not broken.
var word = regexp.MustCompile("(?:`[^`]*`|[^ `])+")

// wrap breaks each paragraph of text into lines of at most 100 characters. The first line
// of a paragraph is indented by first, the others by rest.
func wrap(text, first, rest string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		var out strings.Builder
		line := first
		for _, w := range word.FindAllString(p, -1) {
			if line != first && line != rest {
				if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > 100 {
					out.WriteString(line + "\n")
					line = rest
				} else {
					line += " "
				}
			}
			line += w
		}
		paragraphs[i] = out.String() + line
	}
	return strings.Join(paragraphs, "\n\n")
}

type key struct {
	name, typ, doc string
	tag            reflect.StructTag
	keyed, many    bool
}

// keys returns a struct's keys and, apart, its variants.
func (g *generator) keys(name string) (keys []key, variants [][2]string) {
	for _, field := range g.structs[name].Fields.List {
		if field.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		yaml, ok := tag.Lookup("yaml")
		if !ok {
			continue
		}
		typ := typeText(field.Type)
		yamlName, option, _ := strings.Cut(yaml, ",")
		switch {
		case option == "inline":
			inner, _ := g.keys(typ)
			keys = append(keys, inner...)
			continue
		case strings.HasPrefix(option, "variant="):
			variants = append(variants, [2]string{strings.TrimPrefix(option, "variant="), strings.TrimPrefix(typ, "*")})
			continue
		case option == "name":
			yamlName = "<name>"
		}
		k := key{name: yamlName, typ: typ, doc: flat(field.Doc.Text()), tag: tag, keyed: option == "keyed", many: option == "many"}
		if k.doc == "" && tag.Get("later") == "" && tag.Get("refuse") == "" {
			g.fail("%s.%s (key %q) has no comment", name, fieldName(field), yamlName)
		}
		keys = append(keys, k)
	}
	return keys, variants
}

func fieldName(f *ast.Field) string {
	if len(f.Names) > 0 {
		return f.Names[0].Name
	}
	return typeText(f.Type)
}

func (g *generator) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	}
	return ""
}

// section writes the keys of a struct, and then the sections of its nested structs.
func (g *generator) section(name, path, intro string) {
	title := path
	if title == "" {
		title = "The file"
	} else {
		title = "`" + title + "`"
	}
	if g.variant != "" && !sharedStructs[name] {
		title += " with `type: " + g.variant + "`"
	}
	fmt.Fprintf(&g.out, "\n## %s\n\n%s", title, intro)
	keys, variants := g.keys(name)
	g.entries(keys, path)
	g.children(keys, path)
	for _, v := range variants {
		own, _ := g.keys(v[1])
		g.variant = v[0]
		fmt.Fprintf(&g.out, "\n## `%s` with `type: %s`\n\n%s\n\n", path, v[0], wrap(g.docs[v[1]], "", ""))
		g.entries(own, path)
		g.children(own, path)
		g.variant = ""
	}
}

func (g *generator) entries(keys []key, path string) {
	for _, k := range keys {
		if k.tag.Get("refuse") != "" || k.name == "<name>" {
			continue
		}
		if later := k.tag.Get("later"); later != "" {
			g.deferred(k, path, later)
			if k.tag.Get("enum") == "" {
				continue
			}
		}
		fmt.Fprintf(&g.out, "%s  \n%s\n", wrap(fmt.Sprintf("- **`%s`** (%s)", k.name, g.traits(k)), "", "  "), wrap(k.doc, "  ", "  "))
	}
}

func (g *generator) deferred(k key, path, later string) {
	full := strings.TrimPrefix(path+"."+k.name, ".")
	if k.tag.Get("enum") == "" {
		g.later = append(g.later, fmt.Sprintf("`%s`: %s", full, later))
		return
	}
	for _, word := range strings.Split(later, "|") {
		g.later = append(g.later, fmt.Sprintf("`%s: %s`", full, word))
	}
}

// traits describes the values that a key accepts, its default and its bounds.
func (g *generator) traits(k key) string {
	var list []string
	elem := strings.TrimLeft(k.typ, "*[]")
	switch {
	case k.tag.Get("enum") != "":
		words := "`" + strings.ReplaceAll(k.tag.Get("enum"), "|", "`, `") + "`"
		if strings.HasPrefix(k.typ, "[]") {
			words = "list of " + words
		}
		list = append(list, words)
	case k.keyed:
		list = append(list, "mapping from names")
	case g.structs[elem] != nil && strings.HasPrefix(k.typ, "[]"):
		list = append(list, "list of mappings"+g.orWord(elem)+oneOf(k))
	case g.structs[elem] != nil:
		list = append(list, "mapping")
	case typeNames[strings.TrimPrefix(k.typ, "*")] != "":
		list = append(list, typeNames[strings.TrimPrefix(k.typ, "*")])
	default:
		g.fail("key %q: the manual has no word for type %s", k.name, k.typ)
	}
	for _, trait := range []struct{ tag, format string }{
		{"default", "default `%s`"}, {"min", "at least `%s`"}, {"max", "at most `%s`"},
	} {
		if v := k.tag.Get(trait.tag); v != "" {
			list = append(list, fmt.Sprintf(trait.format, strings.ReplaceAll(v, ",", "`, `")))
		}
	}
	if k.tag.Get("required") != "" {
		list = append(list, "required")
	}
	return strings.Join(list, "; ")
}

// oneOf describes the alternative to a list.
func oneOf(k key) string {
	if !k.many {
		return ""
	}
	return ", or one of these, or `none`"
}

// orWord names the key that is set by a word in place of the mapping.
func (g *generator) orWord(structure string) string {
	for _, field := range g.structs[structure].Fields.List {
		if field.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
		if name, ok := strings.CutSuffix(tag.Get("yaml"), ",self"); ok {
			return ", or of `" + name + "` alone"
		}
	}
	return ""
}

func (g *generator) children(keys []key, path string) {
	for _, k := range keys {
		elem := strings.TrimLeft(k.typ, "*[]")
		if g.structs[elem] == nil {
			continue
		}
		child := strings.TrimPrefix(path+"."+k.name, ".")
		if k.keyed {
			child += ".<name>"
		} else if strings.HasPrefix(k.typ, "[]") {
			child += "[]"
		}
		if at := g.described[elem]; at == child {
			continue
		} else if at != "" {
			fmt.Fprintf(&g.out, "\n## `%s`\n\nThe keys are those of `%s`.\n", child, at)
			continue
		}
		if sharedStructs[elem] {
			g.described[elem] = child
		}
		g.section(elem, child, wrap(g.docs[elem], "", "")+"\n\n")
	}
}
