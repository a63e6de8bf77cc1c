package expr

import "strconv"

// faultClass is a class of faults in an expression. The orders below define which class is
// reported first.
type faultClass uint8

const (
	faultParentheses faultClass = iota
	faultWord                   // reserved words, functions, list indexes: the first in the text
	faultCondition              // the most important fault of the first faulty comparison or function
	faultSection
	faultName
	faultValue
	faultOverlap
	faultConflict
	faultOperand
	faultCount
	faultDistinct
	faultType
	faultOperators
	faultClasses
)

// The order in which classes are reported.
var (
	conditionOrder = []faultClass{faultParentheses, faultWord, faultCondition, faultOperators}
	updateOrder    = []faultClass{faultParentheses, faultWord, faultSection, faultName, faultValue,
		faultOverlap, faultConflict, faultOperand, faultType, faultOperators}
	pathsOrder = []faultClass{faultWord, faultName, faultOverlap, faultConflict}
	// withinCondition are the classes that faultCondition includes.
	withinCondition = []faultClass{faultName, faultCount, faultDistinct, faultType}
)

const (
	maxOperators  = 300
	maxOperandsIn = 100
)

// parser reads one expression. Its reading methods return ok == false after a syntax error,
// which ends the parse.
type parser struct {
	lexer
	token    // the next one
	previous token
	names    *Names
	values   *Values

	which     string // "Condition", "Update", ...
	syntax    string // detail of the syntax error
	faults    [faultClasses]string
	wordAt    int // position of faultWord
	operators int
}

func newParser(which string, text []byte, names *Names, values *Values) *parser {
	p := &parser{lexer: lexer{text: text}, names: names, values: values, which: which}
	p.take()
	return p
}

// isUpdate reports whether the expression is an update. All other expressions with values
// are conditions.
func (p *parser) isUpdate() bool { return p.which == "Update" }

// refuse returns the error that begins with "Invalid ...Expression: ".
func refuse(which, detail string) error {
	return &Error{"Invalid " + which + "Expression: " + detail}
}

// checkText makes the checks that need no parsing.
func checkText(which string, text []byte) error {
	if len(text) > maxText {
		detail := "Expression size has exceeded the maximum allowed size;"
		if which != "Update" && which != "Projection" {
			detail += " expression size: " + strconv.Itoa(len(text))
		}
		return refuse(which, detail)
	}
	l := lexer{text: text}
	if l.next().kind == tokenEnd {
		return refuse(which, "The expression can not be empty;")
	}
	return nil
}

func (p *parser) take() {
	p.previous = p.token
	p.token = p.lexer.next()
}

func (p *parser) word() []byte { return p.lexer.bytes(p.token) }

func (p *parser) accept(k tokenKind) bool {
	if p.kind != k {
		return false
	}
	p.take()
	return true
}

// expect is accept, except that a different token is a syntax error.
func (p *parser) expect(k tokenKind) bool { return p.accept(k) || p.unexpected() }

// keyword returns the next keyword, if the next token is one.
func (p *parser) keyword() keyword {
	if p.kind != tokenName {
		return noKeyword
	}
	return keywordOf(p.word())
}

func (p *parser) acceptWord(k keyword) bool {
	if p.keyword() != k {
		return false
	}
	p.take()
	return true
}

// unexpected records a syntax error at the next token.
func (p *parser) unexpected() bool {
	if p.syntax != "" {
		return false
	}
	tok, end := "<EOF>", p.end
	if p.kind != tokenEnd {
		tok, end = string(p.word()), p.peek().end
	}
	p.syntax = `Syntax error; token: "` + tok + `", near: "` + string(p.text[p.previous.start:end]) + `"`
	return false
}

// fault records a fault if it is the first of its class. In an update all faults of a
// function's arguments are one class.
func (p *parser) fault(class faultClass, detail string) {
	if p.isUpdate() && (class == faultCount || class == faultDistinct) {
		class = faultType
	}
	if p.faults[class] == "" {
		p.faults[class] = detail
	}
}

// wordFault records a fault of the word at a position, unless an earlier word has one.
func (p *parser) wordFault(at int, detail string) {
	if p.faults[faultWord] == "" || at < p.wordAt {
		p.faults[faultWord], p.wordAt = detail, at
	}
}

// endTerm ends a comparison or function of a condition. If it has a fault, faults of later
// ones are not reported.
func (p *parser) endTerm() {
	for _, class := range withinCondition {
		if p.faults[class] != "" {
			p.fault(faultCondition, p.faults[class])
			p.faults[class] = ""
		}
	}
}

// finish returns the error that DynamoDB reports, or nil.
func (p *parser) finish(order []faultClass) error {
	if p.syntax != "" && p.faults[faultParentheses] == "" {
		return refuse(p.which, p.syntax)
	}
	if p.operators > maxOperators {
		p.fault(faultOperators, "The expression contains too many operators; operator count: "+strconv.Itoa(maxOperators+1))
	}
	for _, class := range order {
		if p.faults[class] != "" {
			return refuse(p.which, p.faults[class])
		}
	}
	return nil
}

// path reads a document path.
func (p *parser) path() (path Path, ok bool) {
	if path, ok = p.nameStep(nil); !ok {
		return nil, false
	}
	for {
		switch p.kind {
		case tokenDot:
			p.take()
			path, ok = p.nameStep(path)
		case tokenOpenIndex:
			p.take()
			path, ok = p.indexStep(path)
		default:
			if len(path) > maxPathSteps {
				p.fault(faultName, "The document path has too many nesting levels; nesting levels: "+strconv.Itoa(len(path)))
			}
			return path, true
		}
		if !ok {
			return nil, false
		}
	}
}

func (p *parser) nameStep(path Path) (Path, bool) {
	name := p.word()
	switch p.kind {
	case tokenName:
		if keywordOf(name) != noKeyword { // in every kind of expression
			return nil, p.unexpected()
		}
		if reserved().has(name) {
			p.wordFault(p.start, "Attribute name is a reserved keyword; reserved keyword: "+string(name))
		}
	case tokenNameRef:
		ref := name
		ok := false
		if name, ok = p.names.Lookup(ref); !ok {
			p.fault(faultName, "An expression attribute name used in the document path is not defined; attribute name: "+string(ref))
		}
	default:
		return nil, p.unexpected()
	}
	p.take()
	return append(path, Step{Name: string(name), Index: -1}), true
}

func (p *parser) indexStep(path Path) (Path, bool) {
	if p.kind != tokenDigits {
		return nil, p.unexpected()
	}
	digits := p.word()
	index, ok := parseIndex(digits)
	if !ok {
		p.wordFault(p.start, "List index is not within the allowable range; index: ["+string(digits)+"]")
	}
	p.take()
	return append(path, Step{Index: index}), p.expect(tokenCloseIndex)
}

// value reads a value's placeholder.
func (p *parser) value() (*Operand, bool) {
	if p.kind != tokenValueRef {
		return nil, p.unexpected()
	}
	o := &Operand{Kind: ValueOperand}
	var err error
	if o.Text, o.Value, err = p.values.constant(p.word()); err != nil {
		class := faultName // in a condition the first placeholder of either kind counts
		if p.isUpdate() {
			class = faultValue
		}
		text := err.Error()
		if fault := validation(err); fault != nil {
			text = fault.Message
		}
		p.fault(class, text)
	}
	p.take()
	return o, true
}

// operand reads a path, a value, a function or one of them in parentheses.
func (p *parser) operand() (*Operand, bool) {
	if p.accept(tokenOpen) {
		twice := p.kind == tokenOpen
		o, ok := p.operand()
		if ok = ok && p.expect(tokenClose); ok && twice {
			p.redundant()
		}
		return o, ok
	}
	o, ok := p.simple()
	if ok && o.Kind == CallOperand && isBoolean(o.Function) {
		p.misused(o)
	}
	return o, ok
}

// simple reads a path, a value or a function.
func (p *parser) simple() (*Operand, bool) {
	switch {
	case p.kind == tokenValueRef:
		return p.value()
	case p.kind == tokenName && p.peek().kind == tokenOpen && p.keyword() == noKeyword:
		return p.call()
	}
	path, ok := p.path()
	return &Operand{Kind: PathOperand, Path: path}, ok
}

func (p *parser) call() (*Operand, bool) {
	o := &Operand{Kind: CallOperand, Function: Function(p.word()), at: p.start}
	p.operators++
	p.take()
	p.take()
	for {
		arg, ok := p.operand()
		if !ok {
			return nil, false
		}
		o.Args = append(o.Args, arg)
		if p.accept(tokenComma) {
			continue
		}
		if !p.expect(tokenClose) {
			return nil, false
		}
		p.checkCall(o)
		if !p.isUpdate() {
			p.endTerm() // before the enclosing one
		}
		return o, true
	}
}

func (p *parser) redundant() {
	p.fault(faultParentheses, "The expression has redundant parentheses;")
}

func (p *parser) misused(o *Operand) {
	p.wordFault(o.at, "The function is not allowed to be used this way in an expression; function: "+string(o.Function))
}

// checkPaths records the first pair of paths that conflict.
func (p *parser) checkPaths(paths []Path) {
	if len(paths) > indexThreshold && !anyClash(paths) {
		return
	}
	for i, b := range paths {
		for _, a := range paths[:i] {
			switch a.relationTo(b) {
			case overlap:
				p.fault(faultOverlap, "Two document paths overlap with each other; "+pair(a, b))
				return // only the first conflict counts
			case conflict:
				p.fault(faultConflict, "Two document paths conflict with each other; "+pair(a, b))
			}
		}
	}
}

// anyClash reports whether two of the paths conflict. It does not compare all pairs: an
// expression may have two thousand paths.
func anyClash(paths []Path) bool {
	var root branch
	for _, path := range paths {
		at := &root
		for _, step := range path {
			from := at
			if at = from.child(step); at.whole || from.names != nil && from.indexes != nil {
				return true
			}
		}
		if at.whole = true; at.names != nil || at.indexes != nil {
			return true
		}
	}
	return false
}

func pair(a, b Path) string {
	return "must remove or rewrite one of these paths; path one: " + a.String() + ", path two: " + b.String()
}

// ParsePaths reads an unescaped ProjectionExpression.
func ParsePaths(text []byte, names *Names) ([]Path, error) {
	if err := checkText("Projection", text); err != nil {
		return nil, err
	}
	p := newParser("Projection", text, names, nil)
	var paths []Path
	for {
		path, ok := p.path()
		if !ok {
			break
		}
		paths = append(paths, path)
		if p.kind == tokenEnd {
			break
		}
		if !p.expect(tokenComma) {
			break
		}
	}
	p.checkPaths(paths)
	if err := p.finish(pathsOrder); err != nil {
		return nil, err
	}
	return paths, nil
}
