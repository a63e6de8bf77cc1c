package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxResult is the maximum length of a result. It is about 20,000 tokens.
const maxResult = 64 << 10

// answer is the result of a call that has not failed.
type answer struct {
	body []byte // JSON
	note string // an explanation, may be empty
}

// errTooLong is the error of a result that can't be made shorter.
func errTooLong(n int, hint string) error {
	return fmt.Errorf("the result has %d bytes, more than the limit of %d: %s", n, maxResult, hint)
}

// answerOf returns a value as an answer.
func answerOf(v any, note string) (answer, error) {
	body, err := json.Marshal(v)
	return answer{body, note}, err
}

// result returns the answer for the SDK.
func (a *answer) result() *sdk.CallToolResult {
	content := []sdk.Content{&sdk.TextContent{Text: string(a.body)}}
	if a.note != "" {
		content = append(content, &sdk.TextContent{Text: a.note})
	}
	return &sdk.CallToolResult{Content: content}
}

// failure returns an error as the result of a tool, so that the model gets it.
func failure(err error) *sdk.CallToolResult {
	text := err.Error()
	if e, ok := errors.AsType[*expr.Error](err); ok {
		text = "ValidationException: " + e.Text
	} else if e, ok := errors.AsType[*wire.Error](err); ok {
		text = e.Type + ": " + e.Message
	}
	if len(text) > maxResult {
		text = text[:maxResult] + "..."
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
