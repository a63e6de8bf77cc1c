package differential

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// messageContains reports whether an error's message contains words.
func (a answer) messageContains(words string) bool {
	o, _ := a.body.(object)
	for _, name := range []string{"message", "Message"} {
		if s, ok := o[name].(string); ok && strings.Contains(s, words) {
			return true
		}
	}
	return false
}

// listed returns the answer's member called name, a list.
func (a answer) listed(name string) list {
	o, _ := a.body.(object)
	all, _ := o[name].(list)
	return all
}

// reasons returns the number of cancellation reasons with the code.
func (a answer) reasons(code string) (n int) {
	for _, reason := range a.listed("CancellationReasons") {
		if o, _ := reason.(object); o["Code"] == code {
			n++
		}
	}
	return n
}

func (a answer) member(name string) any {
	o, _ := a.body.(object)
	return o[name]
}

// removals returns the updates of a request, alone or in a transaction, that only remove.
func removals(r request) (all []object) {
	body, _ := r.body.(object)
	if r.operation == "UpdateItem" && removes(body) {
		return []object{body}
	}
	actions, _ := body["TransactItems"].(list)
	for _, action := range actions {
		a, _ := action.(object)
		if update, ok := a["Update"].(object); ok && removes(update) {
			all = append(all, update)
		}
	}
	return all
}

func removes(update object) bool {
	if s, ok := update["UpdateExpression"].(string); ok {
		s = " " + strings.ToUpper(s)
		return !strings.Contains(s, " SET ") && !strings.Contains(s, " ADD ")
	}
	updates, ok := update["AttributeUpdates"].(object)
	for _, u := range updates {
		if o, _ := u.(object); o["Action"] != "DELETE" {
			return false
		}
	}
	return ok
}

// badBase64 recognises bytes with invalid encoding.
func badBase64(body any) (bad bool) {
	check := func(v any) {
		s, is := v.(string)
		_, err := base64.StdEncoding.Strict().DecodeString(s)
		bad = bad || is && err != nil
	}
	walk(body, func(v any, _ func(any)) {
		value, _ := v.(object)
		check(value["B"])
		members, _ := value["BS"].(list)
		for _, member := range members {
			check(member)
		}
	})
	return bad
}

// notWithSchema recognises a transaction that was cancelled because an action contradicts
// the schema, before any condition was evaluated.
func (a answer) notWithSchema() bool {
	for _, words := range []string{"Cannot update attribute", "Type mismatch for Index Key", "does not match the schema", "for a key attribute cannot contain"} {
		if strings.Contains(text(a.body), words) {
			return true
		}
	}
	return false
}

var partOfAttribute = regexp.MustCompile(`[a-z0-9][.\[]`)

// updatesPart recognises an update of a part of an attribute that is to be returned.
func updatesPart(r request) bool {
	body, _ := r.body.(object)
	returns, _ := body["ReturnValues"].(string)
	expression, _ := body["UpdateExpression"].(string)
	return strings.HasPrefix(returns, "UPDATED_") && partOfAttribute.MatchString(expression)
}

// within reports whether part equals whole except for missing members and elements.
func within(part, whole any) bool {
	switch p := part.(type) {
	case object:
		w, ok := whole.(object)
		for name, inner := range p {
			ok = ok && w[name] != nil && within(inner, w[name])
		}
		return ok
	case list:
		w, _ := whole.(list)
		at := 0
		for _, inner := range p {
			for at < len(w) && !within(inner, w[at]) {
				at++
			}
			if at++; at > len(w) {
				return false
			}
		}
		return true
	}
	return part == whole
}

// tooDeep recognises a request with a value nested deeper than the service allows.
func tooDeep(r request) bool { return strings.Count(text(r.body), `{"L":[{"L":[`) > 15 }

// statementsOf returns the PartiQL statements of a request.
func statementsOf(r request) (all []object) {
	body, _ := r.body.(object)
	if body["Statement"] != nil {
		return []object{body}
	}
	for _, name := range []string{"Statements", "TransactStatements"} {
		some, _ := body[name].(list)
		for _, one := range some {
			if o, ok := one.(object); ok {
				all = append(all, o)
			}
		}
	}
	return all
}

// extraParameters recognises a statement with more parameters than question marks.
func extraParameters(r request) bool {
	for _, s := range statementsOf(r) {
		statement, _ := s["Statement"].(string)
		parameters, _ := s["Parameters"].(list)
		if len(parameters) > strings.Count(statement, "?") {
			return true
		}
	}
	return false
}

var literalNumber = regexp.MustCompile(`= (-?[0-9.]+)`)

// respelled recognises numbers, in keys or statements, that are not in normalized form, so
// that one item may have two names.
func respelled(r request) (found bool) {
	see := func(n any) {
		s, is := n.(string)
		found = found || is && !normalNumber.MatchString(s)
	}
	for _, s := range statementsOf(r) {
		statement, _ := s["Statement"].(string)
		for _, literal := range literalNumber.FindAllStringSubmatch(statement, -1) {
			see(literal[1])
		}
		parameters, _ := s["Parameters"].(list)
		for _, p := range parameters {
			value, _ := p.(object)
			see(value["N"])
		}
	}
	walk(r.body, func(v any, _ func(any)) {
		key, _ := v.(object)
		for _, name := range []string{"pN", "sN"} {
			value, _ := key[name].(object)
			see(value["N"])
		}
	})
	return found
}

// static matches the messages about faults that don't depend on an item.
var static = regexp.MustCompile(impossible.String() + `|Cannot update attribute|Type mismatch for Index Key|(DELETE|ADD) action|unused in expressions|only be specified when using|Validation failed in TransactStatements`)

// impossible matches the messages about values that no attribute can have.
var impossible = regexp.MustCompile(`"Supplied AttributeValue |Null attribute value|numeric value|contains duplicates|may not be empty|should not be empty|Number (over|under)flow|significant digits|Nesting Levels`)

// gets are the operations with one response for each requested item.
var gets = map[string]bool{"TransactGetItems": true, "ExecuteTransaction": true, "BatchExecuteStatement": true}

// flatten copies an answer, replacing documents by the values that our statements' paths
// lead to.
func flatten(body any) any {
	out := clone(body)
	o, _ := out.(object)
	responses, _ := o["Responses"].(list)
	for _, r := range responses {
		response, _ := r.(object)
		item, _ := response["Item"].(object)
		if m, ok := inside(item, "m", "M").(object); ok && len(item) == 1 && len(m) == 1 && m["x"] != nil {
			response["Item"] = object{"x": m["x"]}
		}
		if l, ok := inside(item, "l", "L").(list); ok && len(item) == 1 && len(l) == 1 {
			response["Item"] = object{"l[0]": l[0]}
		}
	}
	return out
}

func inside(item object, name, typ string) any {
	value, _ := item[name].(object)
	return value[typ]
}
