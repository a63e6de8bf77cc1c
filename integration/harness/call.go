package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Call sends one unsigned request of the JSON protocol, and returns the status and body of
// the response.
func Call(ctx context.Context, client *http.Client, url, operation, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// MustCall is like Call, and returns an error unless the status is 200.
func MustCall(ctx context.Context, client *http.Client, url, operation, body string) (string, error) {
	status, text, err := Call(ctx, client, url, operation, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d: %s", operation, body, status, text)
	}
	return text, err
}
