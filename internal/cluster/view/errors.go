package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// ErrConflict is returned by Write if the stored revision is not the expected one.
var ErrConflict = fmt.Errorf("cluster view: the stored revision is not the expected one: %w", protocol.ErrConflict)

// Codes of DynamoDB's errors.
const (
	conditionFailed = "ConditionalCheckFailedException"
	accessDenied    = "AccessDeniedException"
	notFound        = "ResourceNotFoundException"
	inUse           = "ResourceInUseException"
)

// Error is an error answer of the origin, for example because it throttles the table.
type Error struct {
	Operation string // "GetItem"
	Table     string
	Status    int
	Code      string // "ProvisionedThroughputExceededException"; empty if the answer is no DynamoDB error
	Message   string // the first line of the origin's message; the rest may quote the request's headers
	Resource  string // the table in an IAM policy
}

// Error returns the origin's code and message. If the origin denies access, it names the IAM
// action that the credentials need.
func (e *Error) Error() string {
	text := fmt.Sprintf("cluster view: %s on table %s was answered with %d", e.Operation, e.Table, e.Status)
	if e.Code == "" {
		return text + " and no DynamoDB error"
	}
	text += " " + e.Code
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Code == accessDenied {
		text += fmt.Sprintf("; the origin's credentials need the IAM action dynamodb:%s on %s", e.Operation, e.Resource)
	}
	return text
}

// hasCode reports whether err is an error answer with the code.
func hasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// maxMessage limits the length of a message of the origin in an error.
const maxMessage = 300

// parse fills in the code and the message of an error answer.
func (e *Error) parse(answer []byte) {
	var body struct {
		Type    string `json:"__type"`
		Message string // "message" or "Message"
	}
	if json.Unmarshal(answer, &body) != nil {
		return
	}
	e.Code = body.Type[strings.LastIndexByte(body.Type, '#')+1:]
	e.Code = clip(e.Code, 100)
	e.Message, _, _ = strings.Cut(body.Message, "\n")
	e.Message = clip(e.Message, maxMessage)
}

// clip returns s with at most limit bytes, ending between two characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}
