package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

type healthCommand struct {
	adminFlags
	Timeout time.Duration `default:"3s" help:"Maximum time to wait for the answer." placeholder:"DURATION"`
}

func (c *healthCommand) Run(env *Environment) error {
	if c.Timeout <= 0 {
		return fail(codeUsage, errors.New("--timeout must be positive"))
	}
	a, err := c.client(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	text, err := a.ready(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, text)
	return nil
}

// ready requests /readyz, and returns the text of an answer with status 200.
func (a *adminClient) ready(ctx context.Context) (string, error) {
	client, base, err := a.client()
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("no answer from the admin API: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminAnswer))
	if err != nil {
		return "", fmt.Errorf("the admin API's answer broke off: %w", err)
	}
	text := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %d: %s", a.address, resp.StatusCode, text)
	}
	return text, nil
}
