package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder decodes the file's tree into a struct that holds the defaults. It continues after
// a mistake, so that all mistakes are reported at once.
type decoder struct {
	file     string
	lines    []string // lines of the file
	env      func(string) (string, bool)
	used     redactor // environment variables used in values, which are not shown in messages
	needs    string   // the least content of a file
	problems Problems
	places   map[string]place    // place of every path of the file
	anchors  map[string]ast.Node // anchors above the current line, by name
	depth    int                 // number of nested nodes and aliases
	steps    int
}

type place struct{ line, column int }

// Limits against small files that expand to large trees.
const (
	maxDepth = 64
	maxSteps = 200_000
)

func (d *decoder) report(at place, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.file, Line: at.line, Column: at.column, Path: path, Message: fmt.Sprintf(format, args...), Source: d.source(at.line),
	})
}

// decode parses data into v, which holds the defaults.
func (d *decoder) decode(data []byte, v reflect.Value) {
	d.places, d.anchors = make(map[string]place), make(map[string]ast.Node)
	data, err := decodeText(data)
	if err != nil {
		d.report(place{}, "", "%v", err)
		return
	}
	d.lines = strings.Split(string(data), "\n")
	file, err := parseYAML(data)
	if err != nil {
		d.syntax(err)
		return
	}
	var docs []*ast.DocumentNode
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			docs = append(docs, doc)
		}
	}
	if len(docs) > 1 {
		d.report(placeOf(docs[1].Body), "", "a second document: the whole configuration is one")
		return
	}
	if len(docs) == 0 {
		d.report(place{}, "", "the file is empty; it needs at least %s", d.needs)
		return
	}
	d.mapping(docs[0].Body, v, "", "")
}

func placeOf(n ast.Node) place {
	return tokenPlace(firstToken(n))
}

func firstToken(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return firstToken(n.Values[0])
		}
		return n.GetToken()
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

func tokenPlace(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, t.Position.Column}
}

// follow returns the node that anchors, aliases and tags lead to.
func (d *decoder) follow(n ast.Node, path string) ast.Node {
	for range maxDepth {
		switch t := n.(type) {
		case *ast.AnchorNode:
			d.anchors[t.Name.GetToken().Value] = t.Value
			n = t.Value
		case *ast.AliasNode:
			name := t.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.report(placeOf(n), path, "there is no anchor &%s above", name)
				return nil
			}
			n = target
		case *ast.TagNode:
			d.report(placeOf(n), path, "tags such as %s have no meaning here", t.Start.Value)
			return nil
		default:
			return n
		}
	}
	return nil
}

// enter counts a step down the tree. It fails on a tree that is too deep.
func (d *decoder) enter(n ast.Node, path string) bool {
	d.steps++
	if d.depth++; d.depth > maxDepth || d.steps > maxSteps {
		if d.steps < 2*maxSteps {
			d.report(placeOf(n), path, "aliases make this endless")
			d.steps = 2 * maxSteps
		}
		d.depth--
		return false
	}
	return true
}

// value decodes n into v with the rules of f.
func (d *decoder) value(n ast.Node, v reflect.Value, f *field, path string) {
	if !d.enter(n, path) {
		return
	}
	defer func() { d.depth-- }()
	at := placeOf(n)
	if n = d.follow(n, path); n == nil {
		return
	}
	if n.Type() == ast.NullType {
		if f.required != "" {
			d.report(at, path, "no value: %s", f.required)
		} else {
			d.report(at, path, "no value; leave the key out for %s", defaultText(f))
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		if fresh.Elem().Kind() == reflect.Struct {
			setDefaults(fresh.Elem(), "")
		}
		d.value(n, fresh.Elem(), f, path)
		v.Set(fresh)
		return
	}
	switch {
	case f.keyed:
		d.keyed(n, v, path)
	case f.many:
		d.many(n, v, f, path)
	case v.Kind() == reflect.Struct:
		d.record(n, v, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, f, path)
	default:
		d.scalar(n, v, f, path)
	}
}

// record decodes a mapping, or the word that is short for one.
func (d *decoder) record(n ast.Node, v reflect.Value, path string) {
	if _, ok := scalarText(n); ok {
		fields := fieldsOf(v.Type(), "")
		if i := slices.IndexFunc(fields, func(f field) bool { return f.self }); i >= 0 {
			d.scalar(n, v.FieldByIndex(fields[i].index), &fields[i], path)
			return
		}
	}
	d.mapping(n, v, path, "")
}

func defaultText(f *field) string {
	if f.def == "" {
		return "its default"
	}
	return "the default " + f.def
}

// entry is a key of a mapping with its value.
type entry struct {
	name  string
	at    place
	value ast.Node
}

// entries returns a mapping's keys, merged ones last, and false if n is not a mapping.
func (d *decoder) entries(n ast.Node, path string) ([]entry, bool) {
	m, ok := n.(ast.MapNode)
	if !ok {
		d.report(placeOf(n), path, "expected a mapping of keys to values, found %s", kindOf(n))
		return nil, false
	}
	var own, merged []entry
	for it := m.MapRange(); it.Next(); {
		key := it.Key()
		if key.IsMergeKey() {
			merged = append(merged, d.merge(it.Value(), path)...)
			continue
		}
		e := entry{name: key.GetToken().Value, at: tokenPlace(key.GetToken()), value: it.Value()}
		if i := slices.IndexFunc(own, func(o entry) bool { return o.name == e.name }); i >= 0 {
			d.report(e.at, join(path, e.name), "given twice; first in line %d", own[i].at.line)
			continue
		}
		own = append(own, e)
	}
	for _, e := range merged {
		if !slices.ContainsFunc(own, func(o entry) bool { return o.name == e.name }) {
			own = append(own, e)
		}
	}
	return own, true
}

func (d *decoder) merge(n ast.Node, path string) []entry {
	if !d.enter(n, path) {
		return nil
	}
	defer func() { d.depth-- }()
	if n = d.follow(n, path); n == nil {
		return nil
	}
	var list []entry
	if seq, ok := n.(*ast.SequenceNode); ok {
		for _, item := range seq.Values {
			list = append(list, d.merge(item, path)...)
		}
		return list
	}
	list, _ = d.entries(n, path)
	return list
}

// mapping decodes a mapping into a struct.
func (d *decoder) mapping(n ast.Node, v reflect.Value, path, variant string) {
	if n = d.follow(n, path); n == nil {
		return
	}
	list, ok := d.entries(n, path)
	if !ok {
		return
	}
	d.note(path, placeOf(n))
	fields := fieldsOf(v.Type(), variant)
	for _, e := range list {
		at := join(path, e.name)
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == e.name })
		if i < 0 {
			d.report(e.at, path, "unknown key %q%s; allowed here: %s", e.name,
				meant(e.name, names(fields)), strings.Join(names(fields), ", "))
			continue
		}
		f := &fields[i]
		switch {
		case f.refuse != "":
			d.report(e.at, at, "not taken: %s", f.refuse)
		case f.hidden():
			d.report(e.at, at, "not available in this version: %s", f.later)
		default:
			d.note(at, e.at)
			d.value(e.value, v.FieldByIndex(f.index), f, at)
		}
	}
	for i := range fields {
		_, given := d.places[join(path, fields[i].name)]
		_, other := d.places[fields[i].unless]
		if optional := fields[i].required == "" || fields[i].unless != "" && other; !given && !optional {
			d.report(d.place(path), path, "lacks %q: %s", fields[i].name, fields[i].required)
		}
	}
}

// keyed decodes a mapping into a list of structs, in the order of the file.
func (d *decoder) keyed(n ast.Node, v reflect.Value, path string) {
	list, ok := d.entries(n, path)
	if !ok {
		return
	}
	for _, e := range list {
		at := join(path, e.name)
		d.note(at, e.at)
		item := reflect.New(v.Type().Elem()).Elem()
		value := d.follow(e.value, at)
		if value == nil {
			continue
		}
		if value.Type() == ast.NullType {
			d.report(e.at, at, "no value; expected a mapping with the keys %s",
				strings.Join(names(fieldsOf(item.Type(), "")), ", "))
			continue
		}
		variant, ok := d.variant(value, item.Type(), at)
		if !ok {
			continue
		}
		newEntry(item, e.name, variant)
		if variant == "" {
			d.record(value, item, at)
		} else {
			d.mapping(value, item, at, variant)
		}
		v.Set(reflect.Append(v, item))
	}
}

// many decodes a list with a single element written without brackets. The word none is an
// empty list, as opposed to no list.
func (d *decoder) many(n ast.Node, v reflect.Value, f *field, path string) {
	if _, ok := n.(*ast.SequenceNode); ok {
		d.list(n, v, f, path)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 1))
	if text, ok := scalarText(n); ok && text == "none" {
		return
	}
	x := reflect.New(v.Type().Elem()).Elem()
	if x.Kind() == reflect.Struct {
		newEntry(x, "", "")
	}
	d.note(path+"[0]", placeOf(n))
	d.value(n, x, &field{name: f.name}, path+"[0]")
	v.Set(reflect.Append(v, x))
}

// variant reads the type of an entry, on which its other keys depend. It reports a missing
// or unknown type and returns false.
func (d *decoder) variant(n ast.Node, t reflect.Type, path string) (string, bool) {
	known := variants(t)
	if len(known) == 0 {
		return "", true
	}
	list, ok := d.entries(n, path)
	if !ok {
		return "", false
	}
	i := slices.IndexFunc(list, func(e entry) bool { return e.name == "type" })
	if i < 0 {
		d.report(d.place(path), path, `lacks "type": it names the protocol; allowed: %s`, strings.Join(known, ", "))
		return "", false
	}
	var name string
	fields := fieldsOf(t, "")
	j := slices.IndexFunc(fields, func(f field) bool { return f.name == "type" })
	before := len(d.problems)
	d.value(list[i].value, reflect.ValueOf(&name).Elem(), &fields[j], join(path, "type"))
	return name, len(d.problems) == before
}

func (d *decoder) list(n ast.Node, v reflect.Value, f *field, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.report(placeOf(n), path, "expected a list, such as [a, b], found %s", kindOf(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(seq.Values)))
	element := field{name: f.name, enum: f.enum, later: f.later, min: f.min, max: f.max}
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.note(at, placeOf(item))
		x := reflect.New(v.Type().Elem()).Elem()
		if x.Kind() == reflect.Struct {
			newEntry(x, "", "")
		}
		d.value(item, x, &element, at)
		v.Set(reflect.Append(v, x))
	}
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, f *field, path string) {
	at := placeOf(n)
	written, ok := scalarText(n)
	if !ok {
		d.report(at, path, "expected %s, found %s", wants(v.Type()), kindOf(n))
		return
	}
	text, err := d.expand(written)
	if err != nil {
		d.report(at, path, "%q %v", written, err)
		return
	}
	if f.enum != nil && !slices.Contains(f.enum, text) {
		if slices.Contains(strings.Split(f.later, "|"), text) {
			d.report(at, path, "%q is not available in this version; allowed: %s", written, strings.Join(f.enum, ", "))
			return
		}
		d.report(at, path, "%q is not allowed%s; allowed: %s", written, meant(text, f.enum), strings.Join(f.enum, ", "))
		return
	}
	if err := setScalar(v, text); err != nil {
		d.report(at, path, "%q %v", written, err)
		return
	}
	d.bounds(at, v, f, path, written)
}

func (d *decoder) bounds(at place, v reflect.Value, f *field, path, text string) {
	if f.min != "" && lessThan(v, f.min, false) {
		d.report(at, path, "%s is too small: at least %s", text, f.min)
	}
	if f.max != "" && lessThan(v, f.max, true) {
		d.report(at, path, "%s is too large: at most %s", text, f.max)
	}
}

// lessThan compares v with a bound written like v.
func lessThan(v reflect.Value, bound string, greater bool) bool {
	b := reflect.New(v.Type()).Elem()
	if err := setScalar(b, bound); err != nil {
		panic(fmt.Sprintf("config: bound %q: %v", bound, err))
	}
	if greater {
		v, b = b, v
	}
	if v.CanFloat() {
		return v.Float() < b.Float()
	}
	return v.Int() < b.Int()
}

func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	}
	if text, ok := scalarText(n); ok {
		return strconv.Quote(text)
	}
	return "something else"
}

func wants(t reflect.Type) string {
	switch reflect.Zero(t).Interface().(type) {
	case Duration:
		return "a length of time"
	case Size:
		return "a size"
	case Address, Advertised, NodeAddress:
		return "an address"
	case URL, Upstream:
		return "a URL"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Float64:
		return "a number"
	}
	return "text"
}

// setScalar parses text as v's type.
func setScalar(v reflect.Value, text string) error {
	if s, ok := v.Addr().Interface().(scalar); ok {
		return s.set(text)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return errors.New("must be true or false")
		}
		v.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		if err != nil {
			return errors.New("is no whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != f {
			return errors.New("is no number")
		}
		v.SetFloat(f)
	default:
		panic("config: a field of type " + v.Type().String())
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (d *decoder) note(path string, at place) {
	if _, ok := d.places[path]; !ok {
		d.places[path] = at
	}
}

// place returns the place of path in the file, or of the nearest mapping above it.
func (d *decoder) place(path string) place {
	for path != "" {
		if at, ok := d.places[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return d.places[""]
}
