package expr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// The model evaluates random expressions on items decoded by encoding/json, in the simplest way
// that follows the documentation. Of this package it uses only Path.

// attr is an attribute value: {"S":"x"}; nil for none.
type attr = map[string]any

func typeName(v attr) string {
	for name := range v {
		return name
	}
	return ""
}

func memberTexts(v attr) []string {
	var out []string
	for _, s := range v[typeName(v)].([]any) {
		out = append(out, s.(string))
	}
	return out
}

func rational(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return r
}

// canonical returns the same text for equal values only.
func canonical(v attr) string {
	typ := typeName(v)
	switch x := v[typ].(type) {
	case string:
		if typ == "N" {
			return "N" + rational(x).RatString()
		}
		return typ + strconv.Quote(x)
	case bool:
		return typ + strconv.FormatBool(x)
	case map[string]any:
		var parts []string
		for name, member := range x {
			parts = append(parts, strconv.Quote(name)+canonical(member.(attr)))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	var parts []string
	for _, x := range v[typ].([]any) {
		switch typ {
		case "L":
			parts = append(parts, canonical(x.(attr)))
		case "NS":
			parts = append(parts, rational(x.(string)).RatString())
		default:
			parts = append(parts, strconv.Quote(x.(string)))
		}
	}
	if typ != "L" {
		sort.Strings(parts)
	}
	return typ + "[" + strings.Join(parts, ",") + "]"
}

func modelPath(item attr, p Path) attr {
	at := attr{"M": map[string]any(item)}
	for _, s := range p {
		var next any
		if s.Index < 0 {
			m, _ := at["M"].(map[string]any)
			next = m[s.Name]
		} else if l, _ := at["L"].([]any); s.Index < len(l) {
			next = l[s.Index]
		}
		var ok bool
		if at, ok = next.(attr); !ok {
			return nil
		}
	}
	return at
}

// modelKeep returns the part of a value at the given paths, nil if there is none.
func modelKeep(v attr, paths []Path) attr {
	behind := func(s Step) (rest []Path) {
		for _, p := range paths {
			if p[0] == s {
				rest = append(rest, p[1:])
			}
		}
		return rest
	}
	for _, p := range paths {
		if len(p) == 0 {
			return v
		}
	}
	members := map[string]any{}
	if m, ok := v["M"].(map[string]any); ok {
		for name, x := range m {
			if kept := modelKeep(x.(attr), behind(Step{Name: name, Index: -1})); kept != nil {
				members[name] = kept
			}
		}
	}
	var elements []any
	if l, ok := v["L"].([]any); ok {
		for i, x := range l {
			if kept := modelKeep(x.(attr), behind(Step{Index: i})); kept != nil {
				elements = append(elements, kept)
			}
		}
	}
	switch {
	case len(members) > 0:
		return attr{"M": members}
	case elements != nil:
		return attr{"L": elements}
	}
	return nil
}

func modelCompare(a, b attr) (order int, ok bool) {
	typ := typeName(a)
	if a == nil || b == nil || typ != typeName(b) {
		return 0, false
	}
	switch typ {
	case "N":
		return rational(a["N"].(string)).Cmp(rational(b["N"].(string))), true
	case "S":
		return strings.Compare(a["S"].(string), b["S"].(string)), true
	case "B":
		return bytes.Compare(binary(a), binary(b)), true
	}
	return 0, false
}

func binary(v attr) []byte {
	b, err := base64.StdEncoding.DecodeString(v["B"].(string))
	if err != nil {
		panic(err)
	}
	return b
}

func modelContains(a, b attr) bool {
	ta, tb := typeName(a), typeName(b)
	switch ta {
	case "S":
		return tb == "S" && strings.Contains(a["S"].(string), b["S"].(string))
	case "B":
		return tb == "B" && bytes.Contains(binary(a), binary(b))
	case "SS", "NS", "BS":
		for _, s := range memberTexts(a) {
			if canonical(attr{ta[:1]: s}) == canonical(b) {
				return true
			}
		}
	case "L":
		for _, x := range a["L"].([]any) {
			if canonical(x.(attr)) == canonical(b) {
				return true
			}
		}
	}
	return false
}

func modelSize(v attr) attr {
	n := 0
	switch x := v[typeName(v)].(type) {
	case string:
		switch typeName(v) {
		case "S":
			n = len(utf16.Encode([]rune(x)))
		case "B":
			n = len(binary(v))
		default:
			return nil
		}
	case []any:
		n = len(x)
	case map[string]any:
		n = len(x)
	default:
		return nil
	}
	return attr{"N": strconv.Itoa(n)}
}

// scene is an item with constants, and generates expressions on them.
type scene struct {
	t      *rapid.T
	item   attr
	consts []attr
}

func drawScene(t *rapid.T) *scene {
	s := &scene{t: t, item: attr{}}
	for _, name := range []string{"a", "b", "c", "d", "m", "l"} {
		if rapid.IntRange(0, 4).Draw(t, "there") > 0 {
			s.item[name] = s.attr(name, 3)
		}
	}
	for range 6 {
		s.consts = append(s.consts, s.attr("", 2))
	}
	return s
}

// attr generates an attribute value. m and l are usually documents that the paths lead into.
func (s *scene) attr(name string, depth int) attr {
	kind := rapid.IntRange(0, 12).Draw(s.t, "kind")
	switch {
	case name == "m" && kind < 10:
		kind = 9
	case name == "l" && kind < 10:
		kind = 10
	case depth == 0 && kind > 8:
		kind = 0
	}
	digit := func() string { return strconv.Itoa(rapid.IntRange(0, 4).Draw(s.t, "n")) }
	letters := func() string { return rapid.StringOfN(rapid.SampledFrom([]rune("abé😀")), 0, 3, -1).Draw(s.t, "s") }
	switch kind {
	case 3:
		return attr{"B": base64.StdEncoding.EncodeToString([]byte(letters()))}
	case 4:
		return attr{"BOOL": rapid.Bool().Draw(s.t, "b")}
	case 5:
		return attr{"NULL": true}
	case 6, 7, 8:
		set := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(s.t, "members") {
			m := map[int]string{6: letters(), 7: digit(), 8: base64.StdEncoding.EncodeToString([]byte(letters()))}[kind]
			set[m] = m
		}
		var list []any
		for _, m := range set {
			list = append(list, m)
		}
		return attr{[]string{"SS", "NS", "BS"}[kind-6]: list}
	case 9:
		m := map[string]any{}
		for _, name := range []string{"x", "y"} {
			if rapid.IntRange(0, 3).Draw(s.t, "member") > 0 {
				m[name] = s.attr("", depth-1)
			}
		}
		return attr{"M": m}
	case 10:
		l := []any{}
		for range rapid.IntRange(0, 3).Draw(s.t, "elements") {
			l = append(l, s.attr("", depth-1))
		}
		return attr{"L": l}
	case 1, 11:
		return attr{"S": letters()}
	}
	return attr{"N": digit() + rapid.SampledFrom([]string{"", ".0", "e0", ".5"}).Draw(s.t, "form")}
}

var modelPaths = []string{"a", "b", "c", "d", "m", "m.x", "m.y", "m.x.y", "m.y[0]", "l", "l[0]", "l[1]", "l[2]", "l[4]", "l[7]", "l[0].x", "l[1][0]", "gone", "a.x", "b[1]"}

func drawPath(t *rapid.T) (string, Path) {
	text := rapid.SampledFrom(modelPaths).Draw(t, "path")
	return text, toPath(text)
}

// toPath parses a path of the model.
func toPath(text string) Path {
	var p Path
	for _, s := range strings.Split(strings.ReplaceAll(text, "[", ".["), ".") {
		if index, ok := strings.CutPrefix(s, "["); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			if err != nil {
				panic(err)
			}
			p = append(p, Step{Index: n})
			continue
		}
		p = append(p, Step{Name: s, Index: -1})
	}
	return p
}

// term is an operand with its value for the scene's item.
type term struct {
	text string
	of   attr
}

func (s *scene) constant() term {
	i := rapid.IntRange(0, len(s.consts)-1).Draw(s.t, "constant")
	return term{fmt.Sprintf(":c%d", i), s.consts[i]}
}

func (s *scene) path() term {
	text, p := drawPath(s.t)
	return term{text, modelPath(s.item, p)}
}

func (s *scene) operand() term {
	switch rapid.IntRange(0, 6).Draw(s.t, "operand") {
	case 0:
		x := s.path()
		return term{"size(" + x.text + ")", modelSize(x.of)}
	case 1, 2:
		return s.constant()
	}
	return s.path()
}

// condition generates a condition and returns its expected result.
func (s *scene) condition(depth int) (text string, holds bool) {
	if depth > 0 && rapid.Bool().Draw(s.t, "composed") {
		x, a := s.condition(depth - 1)
		y, b := s.condition(depth - 1)
		switch rapid.IntRange(0, 2).Draw(s.t, "how") {
		case 0:
			return "(" + x + ") AND (" + y + ")", a && b
		case 1:
			return "(" + x + ") OR (" + y + ")", a || b
		}
		return "NOT (" + x + ")", !a
	}
	a, b := s.operand(), s.operand()
	order, comparable := modelCompare(a.of, b.of)
	equal := a.of != nil && b.of != nil && canonical(a.of) == canonical(b.of)
	switch rapid.IntRange(0, 11).Draw(s.t, "form") {
	case 0:
		return a.text + " = " + b.text, equal
	case 1:
		return a.text + " <> " + b.text, !equal
	case 2:
		return a.text + " < " + b.text, comparable && order < 0
	case 3:
		return a.text + " <= " + b.text, comparable && order <= 0
	case 4:
		return a.text + " > " + b.text, comparable && order > 0
	case 5:
		return a.text + " >= " + b.text, comparable && order >= 0
	case 6:
		c := s.operand()
		other, alsoComparable := modelCompare(a.of, c.of)
		return a.text + " BETWEEN " + b.text + " AND " + c.text, comparable && alsoComparable && order >= 0 && other <= 0
	case 7:
		c := s.operand()
		return a.text + " IN (" + b.text + ", " + c.text + ")", equal || a.of != nil && c.of != nil && canonical(a.of) == canonical(c.of)
	case 8:
		return "begins_with(" + a.text + ", " + b.text + ")", modelBegins(a.of, b.of)
	case 9:
		return "contains(" + a.text + ", " + b.text + ")", a.of != nil && b.of != nil && modelContains(a.of, b.of)
	case 10:
		x := s.path()
		return "attribute_exists(" + x.text + ")", x.of != nil
	}
	x := s.path()
	return "attribute_not_exists(" + x.text + ")", x.of == nil
}

func modelBegins(a, b attr) bool {
	if typeName(a) != typeName(b) {
		return false
	}
	switch typeName(a) {
	case "S":
		return strings.HasPrefix(a["S"].(string), b["S"].(string))
	case "B":
		return bytes.HasPrefix(binary(a), binary(b))
	}
	return false
}

// values returns the constants as in a request.
func (s *scene) values() []byte {
	m := map[string]any{}
	for i, c := range s.consts {
		m[fmt.Sprintf(":c%d", i)] = c
	}
	return marshal(m)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

const (
	modelPathFault = "The document path provided in the update expression is invalid for update"
	modelMissing   = "The provided expression refers to an attribute that does not exist in the item"
	modelType      = "An operand in the update expression has an incorrect data type"
)

// outcome is a value, nil if there is none, or an error.
type outcome struct {
	of    attr
	fault string
}

// setValue generates the right side of a SET.
func (s *scene) setValue() (text string, o outcome) {
	read := func(x term) outcome {
		if x.of == nil {
			return outcome{fault: modelMissing}
		}
		return outcome{of: x.of}
	}
	plain := func() (string, outcome) {
		x := s.constant()
		if rapid.Bool().Draw(s.t, "path") {
			x = s.path()
		}
		return x.text, read(x)
	}
	two := func(typ string) (x, y string, a, b attr, fault string) {
		x, first := plain()
		y, second := plain()
		for _, o := range []outcome{first, second} {
			if fault == "" && o.fault == "" && typeName(o.of) != typ {
				o.fault = modelType
			}
			if fault == "" {
				fault = o.fault
			}
		}
		return x, y, first.of, second.of, fault
	}
	switch rapid.IntRange(0, 5).Draw(s.t, "value") {
	case 0:
		x, y, a, b, fault := two("N")
		if fault != "" {
			return x + " - " + y, outcome{fault: fault}
		}
		return x + " - " + y, outcome{of: modelNumber(new(big.Rat).Sub(rational(a["N"].(string)), rational(b["N"].(string))))}
	case 1:
		x, y, a, b, fault := two("L")
		text = "list_append(" + x + ", " + y + ")"
		if fault != "" {
			return text, outcome{fault: fault}
		}
		return text, outcome{of: attr{"L": slices.Concat(a["L"].([]any), b["L"].([]any))}}
	case 2:
		x := s.path()
		y, or := plain()
		if x.of != nil {
			or = outcome{of: x.of}
		}
		return "if_not_exists(" + x.text + ", " + y + ")", or
	}
	return plain()
}

func modelNumber(r *big.Rat) attr { return attr{"N": r.FloatString(2)} }

// addDelete generates an ADD or DELETE for the value at a path.
func (s *scene) addDelete(old attr, del bool) (text string, o outcome) {
	c := s.constant()
	for range 5 { // try to find a value that can be added
		if typ := typeName(c.of); typ == "NS" || typ == "SS" || typ == "BS" || typ == "N" && !del {
			break
		}
		c = s.constant()
	}
	typ := typeName(c.of)
	switch {
	case old == nil && del:
		return c.text, outcome{}
	case old == nil:
		return c.text, outcome{of: c.of}
	case typeName(old) != typ:
		return c.text, outcome{fault: modelType}
	case typ == "N":
		return c.text, outcome{of: modelNumber(new(big.Rat).Add(rational(old["N"].(string)), rational(c.of["N"].(string))))}
	case typ != "SS" && typ != "NS" && typ != "BS":
		return c.text, outcome{} // refused by the parser
	}
	in := map[string]bool{}
	for _, m := range memberTexts(c.of) {
		in[canonical(attr{typ[:1]: m})] = true
	}
	var left []any
	for _, m := range memberTexts(old) {
		if !in[canonical(attr{typ[:1]: m})] {
			left = append(left, m)
		}
	}
	switch {
	case !del:
		return c.text, outcome{of: attr{typ: append(left, c.of[typ].([]any)...)}}
	case len(left) == 0:
		return c.text, outcome{}
	}
	return c.text, outcome{of: attr{typ: left}}
}

// edit is an action: its result is stored at a path.
type edit struct {
	text string
	path Path
	outcome
}

// update generates an update of distinct paths.
func (s *scene) update() (text string, edits []edit) {
	var taken []Path
	for _, clause := range []string{"SET", "ADD", "DELETE", "REMOVE"} {
		var actions []string
		for range rapid.IntRange(-1, 2).Draw(s.t, clause) {
			where, p := drawPath(s.t)
			if slices.ContainsFunc(taken, func(q Path) bool { return p.relationTo(q) != apart }) {
				continue
			}
			taken = append(taken, p)
			e := edit{text: where, path: p}
			old := modelPath(s.item, p)
			switch clause {
			case "SET":
				var v string
				v, e.outcome = s.setValue()
				e.text += " = " + v
			case "ADD", "DELETE":
				var v string
				v, e.outcome = s.addDelete(old, clause == "DELETE")
				e.text += " " + v
			}
			actions = append(actions, e.text)
			edits = append(edits, e)
		}
		if actions != nil {
			text += clause + " " + strings.Join(actions, ", ") + " "
		}
	}
	return text, edits
}

// run applies edits to a copy of the item.
func (s *scene) run(edits []edit) (after attr, fault string) {
	for _, e := range edits {
		last := e.path[len(e.path)-1]
		parent := attr{"M": map[string]any{}}
		if len(e.path) > 1 {
			parent = modelPath(s.item, e.path[:len(e.path)-1])
		}
		if parent == nil || typeName(parent) != map[bool]string{true: "M", false: "L"}[last.Index < 0] {
			return nil, modelPathFault
		}
		if e.fault != "" {
			return nil, e.fault
		}
	}
	var item map[string]any
	if err := json.Unmarshal(marshal(s.item), &item); err != nil {
		panic(err)
	}
	type appended struct {
		list  attr
		index int
		of    attr
	}
	gone := attr{"gone": true}
	var behind []appended
	var lists []attr
	for _, e := range edits {
		last := e.path[len(e.path)-1]
		parent := attr{"M": item}
		if len(e.path) > 1 {
			parent = modelPath(item, e.path[:len(e.path)-1])
		}
		if m, ok := parent["M"].(map[string]any); ok {
			if delete(m, last.Name); e.of != nil {
				m[last.Name] = e.of
			}
			continue
		}
		l := parent["L"].([]any)
		lists = append(lists, parent)
		switch {
		case last.Index >= len(l) && e.of != nil:
			behind = append(behind, appended{parent, last.Index, e.of})
		case last.Index < len(l) && e.of != nil:
			l[last.Index] = e.of
		case last.Index < len(l):
			l[last.Index] = gone
		}
	}
	sort.SliceStable(behind, func(i, j int) bool { return behind[i].index < behind[j].index })
	for _, b := range behind {
		b.list["L"] = append(b.list["L"].([]any), b.of)
	}
	for _, l := range lists {
		l["L"] = slices.DeleteFunc(l["L"].([]any), func(x any) bool { return x.(attr)["gone"] != nil })
	}
	return item, ""
}
