package embedded

import (
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

var (
	statementFields   = fieldsOf(fieldStatement, fieldParameters, fieldConsistent, fieldReturnOnFailure)
	executeFields     = statementFields | fieldsOf(fieldLimit, fieldNextToken, fieldCapacity)
	executeManyFields = fieldsOf(fieldStatements, fieldTransactStatements, fieldToken, fieldCapacity)
)

// parseExecuteStatement reads an ExecuteStatement. Faults of its Parameters are reported
// before faults of the statement.
func parseExecuteStatement(body []byte) (r executeRequest, err error) {
	var f fields
	readFields(&f, body, executeFields)
	r.Limit, r.NextToken, r.Capacity = f.number(fieldLimit), string(f.text(fieldNextToken)), f.capacity()
	r.statementRequest, err = f.statement()
	return r, err
}

// parseExecuteMany reads a BatchExecuteStatement or an ExecuteTransaction with the list of
// statements. A fault in the Parameters of one statement refuses the whole request, except
// for some in a batch.
func parseExecuteMany(body []byte, list field) (r executeManyRequest, err error) {
	var f fields
	readFields(&f, body, executeManyFields)
	r.Token, r.Capacity = string(f.text(fieldToken)), f.capacity()
	texts := elements(f.values[list])
	r.Statements = make([]statementRequest, len(texts))
	for i, text := range texts {
		readFields(&f, text, statementFields)
		if r.Statements[i], err = f.statement(); err == nil {
			continue
		}
		if list != fieldStatements || !isStatementFault(err) {
			return r, err
		}
		r.Statements[i].Fault = err
	}
	return r, nil
}

// statementFaults are the beginnings of faults of a value that refuse only its statement of a
// batch.
var statementFaults = []string{"The parameter cannot be converted ", "Number overflow", "Number underflow",
	"Attempting to store more than 38 ", "Nesting Levels "}

func isStatementFault(err error) bool {
	fault := asFault(err)
	return fault != nil && slices.ContainsFunc(statementFaults, func(start string) bool { return strings.HasPrefix(fault.Message, start) })
}

// statement reads a statement and its parameters.
func (f *fields) statement() (r statementRequest, err error) {
	r.Text, r.Consistent, r.ReturnItemOnFailure = f.text(fieldStatement), f.flag(fieldConsistent), f.returnOnFailure()
	texts := elements(f.values[fieldParameters])
	r.Parameters = make([]value.Value, len(texts))
	for i, text := range texts {
		if r.Parameters[i], err = value.Parse(text); err != nil {
			return r, err
		}
	}
	return r, nil
}
