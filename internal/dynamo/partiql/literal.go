package partiql

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxNesting is the maximum nesting of collections in a literal.
const maxNesting = 31

var (
	errParameters = &Error{"Number of parameters in request and statement don't match."}
	errEmptyBag   = &Error{"Empty bags are not supported"}
	errBagType    = &Error{"Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"}
	errMissing    = &Error{"MISSING must be compared using IS operator"}
)

// root is the name of a whole literal in messages.
const root = "root"

// parameter returns the request's value for a question mark.
func (t *translator) parameter(n *node) (*value.Value, error) {
	if n.index >= len(t.parameters) {
		return nil, errParameters
	}
	return &t.parameters[n.index], nil
}

// isLiteral reports whether the node is a literal value.
func (n *node) isLiteral() bool {
	switch n.kind {
	case nodeText, nodeNumber, nodeBoolean, nodeNull, nodeIon, nodeList, nodeBag, nodeTuple:
		return true
	}
	return false
}

// literal converts a literal to a value. depth is the number of collections around it; key
// is its position in messages.
func literal(n *node, key string, depth int) (v value.Value, err error) {
	if depth > maxNesting {
		return v, &Error{"Nesting Levels have exceeded supported limits under " + key}
	}
	switch n.kind {
	case nodeText:
		return value.Value{Type: value.String, Text: []byte(n.word)}, nil
	case nodeNumber:
		return number(n.word, key)
	case nodeBoolean:
		return value.Value{Type: value.Bool, Bool: n.word == "true"}, nil
	case nodeNull:
		return value.Value{Type: value.Null}, nil
	case nodeIon:
		return v, ionLiteral(n, key)
	case nodeList:
		return list(n, key, depth)
	case nodeBag:
		return bag(n, key)
	case nodeTuple:
		return tuple(n, key, depth)
	}
	return v, &Error{"Unsupported data type: " + n.className() + " under key " + key + position(n.pos)}
}

func ionLiteral(n *node, key string) error {
	return &Error{"Ion Literals are not supported: " + n.word + " under key " + key + position(n.pos)}
}

// number converts digits with a sign to a value. The statement is malformed if no decimal
// with a scale of 32 bits can have the value; otherwise the rules for numbers apply.
func number(text, key string) (value.Value, error) {
	v, err := value.Parse([]byte(`{"N":"` + text + `"}`))
	var e *wire.Error
	switch {
	case err == nil:
		return v, nil
	case !errors.As(err, &e):
		return v, err
	case strings.HasPrefix(e.Message, wire.NumberMalformed.Message(nil)):
		return v, malformed("")
	}
	return v, &Error{cmp.Or(e.Newer, e.Message) + " under " + key}
}

func list(n *node, key string, depth int) (v value.Value, err error) {
	v.Type = value.List
	v.Items = make([]value.Value, len(n.nodes))
	for i, x := range n.nodes {
		if v.Items[i], err = literal(x, key+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
			return v, err
		}
	}
	return v, nil
}

// bag converts a literal to a set.
func bag(n *node, key string) (v value.Value, err error) {
	if len(n.nodes) == 0 {
		return v, errEmptyBag
	}
	written := make([]string, len(n.nodes))
	v.Items = make([]value.Value, len(n.nodes))
	for i, x := range n.nodes {
		switch {
		case x.kind == nodeIon:
			return v, ionLiteral(x, key)
		case x.kind != nodeText && x.kind != nodeNumber || x.kind != n.nodes[0].kind:
			return v, errBagType
		}
		if v.Items[i], err = literal(x, key, 0); err != nil {
			return v, err
		}
		written[i] = x.word
	}
	tail := "."
	if v.Type = value.StringSet; n.nodes[0].kind == nodeNumber {
		v.Type, tail = value.NumberSet, "! under "+key
	}
	if duplicates(v.Items) {
		return v, &Error{"One or more parameter values were invalid: Input collection [" + strings.Join(written, ", ") + "] contains duplicates" + tail}
	}
	return v, nil
}

func duplicates(items []value.Value) bool {
	seen := make(map[string]bool, len(items))
	for i := range items {
		if seen[string(items[i].Text)] {
			return true
		}
		seen[string(items[i].Text)] = true
	}
	return false
}

func tuple(n *node, key string, depth int) (v value.Value, err error) {
	v.Type = value.Map
	for i := 0; i < len(n.nodes); i += 2 {
		name := n.nodes[i]
		if err := tupleName(name, key); err != nil {
			return v, err
		}
		x, err := literal(n.nodes[i+1], key+"."+name.word, depth+1)
		if err != nil {
			return v, err
		}
		if v.Get(name.word) != nil {
			return v, duplicateName(name.word, key, n.pos)
		}
		v.Members = append(v.Members, value.Member{Name: name.word, Value: x})
	}
	return v, nil
}

// tupleName checks the name of a tuple's member.
func tupleName(name *node, key string) error {
	switch {
	case name.kind == nodeIon:
		return ionLiteral(name, key)
	case name.kind != nodeText:
		return &Error{"Tuple keys must be of type String. Actual type: " + name.keyName() + " under " + key + position(name.pos)}
	case name.word == "":
		return errEmptyComponent
	}
	return nil
}

func duplicateName(name, key string, pos Pos) error {
	return &Error{"Duplicate keys in tuple. Key: " + name + " under " + key + position(pos)}
}

// item makes the item of an INSERT, whose values are literals or parameters.
func (t *translator) item(n *node) error {
	if n.kind != nodeTuple {
		return &Error{"Unsupported format in item expression. Please use struct format {...} to express item values for insert statement." + position(n.pos)}
	}
	t.out.Item.Type = value.Map
	for i := 0; i < len(n.nodes); i += 2 {
		name, x := n.nodes[i], n.nodes[i+1]
		if err := tupleName(name, root); err != nil {
			return err
		}
		v, err := t.itemValue(x)
		if err != nil {
			return err
		}
		if t.out.Item.Get(name.word) != nil {
			return duplicateName(name.word, root, name.pos)
		}
		t.out.Item.Members = append(t.out.Item.Members, value.Member{Name: name.word, Value: v})
	}
	return nil
}

func (t *translator) itemValue(n *node) (value.Value, error) {
	switch {
	case n.kind == nodeParameter:
		v, err := t.parameter(n)
		if err != nil {
			return value.Value{}, err
		}
		return *v, nil
	case n.isLiteral():
		return literal(n, root, 0)
	}
	return value.Value{}, &Error{"Unsupported data type: " + n.itemName() + " under key " + root + position(n.pos)}
}

// itemName returns the name of a node in messages about an INSERT that has it in place of a
// value.
func (n *node) itemName() string {
	switch n.kind {
	case nodePath:
		return "PATH"
	case nodeMissing:
		return "MISSING"
	case nodeIs:
		return "is"
	case nodeQuery:
		return "SELECT"
	}
	return n.word
}

// keyName returns the name of a node in messages about a member name that is not a string.
func (n *node) keyName() string {
	switch {
	case n.kind == nodeNumber && strings.ContainsAny(n.word, ".eE"):
		return "DECIMAL"
	case n.kind == nodeNumber:
		return "INT"
	case n.kind == nodeBoolean:
		return "BOOL"
	case n.kind == nodeNull:
		return "NULL"
	}
	return n.className()
}

var operatorClasses = map[string]string{"and": "And", "or": "Or", "not": "Not", "=": "Eq", "<>": "Ne", "<": "Lt", "<=": "Lte", ">": "Gt",
	">=": "Gte", "between": "Between", "in": "InCollection", "like": "Like", "+": "Plus", "-": "Minus", "*": "Times", "/": "Divide",
	"%": "Modulo", "||": "Concat"}

var nodeClasses = [...]string{nodeName: "Id", nodePath: "Path", nodeText: "Lit", nodeNumber: "Lit", nodeBoolean: "Lit", nodeNull: "Lit",
	nodeMissing: "Missing", nodeIon: "Lit", nodeParameter: "Parameter", nodeList: "List", nodeBag: "Bag", nodeTuple: "Struct",
	nodeIs: "IsType", nodeCall: "Call", nodeQuery: "Select"}

// className returns the name of the node's kind in messages.
func (n *node) className() string {
	switch {
	case n.class != "":
		return n.class
	case n.kind == nodeOperator && len(n.nodes) == 1 && n.word != "not":
		return map[string]string{"+": "Pos", "-": "Neg"}[n.word]
	case n.kind == nodeOperator && operatorClasses[n.word] != "":
		return operatorClasses[n.word]
	case n.kind == nodeOperator:
		return "BagOp"
	}
	return nodeClasses[n.kind]
}
