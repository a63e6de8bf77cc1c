package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
)

// adminFlags select the running Kasoku that a command connects to.
type adminFlags struct {
	Config   string `short:"c" help:"The configuration file that the running Kasoku was started with, for the address and the token of its admin API; default: kasoku.yaml in the working directory, if it is there." placeholder:"FILE"`
	Admin    string `help:"Admin address instead of the file's: a URL, or unix:/path; without either http://127.0.0.1:9090." placeholder:"URL"`
	TokenEnv string `help:"Environment variable with the admin token, instead of the file's; default where there is no file: KASOKU_ADMIN_TOKEN." placeholder:"NAME"`
}

const (
	standardAdmin    = "http://127.0.0.1:9090"
	standardTokenEnv = "KASOKU_ADMIN_TOKEN"
)

// client determines the address and the token. With --admin, it doesn't read the token from
// a configuration file: the token must not be sent to another address.
func (f *adminFlags) client(env *Environment) (*adminClient, error) {
	return f.clientWith(env, (*config.Admin).Token)
}

// clientWith is client with the token of the file that a function returns.
func (f *adminFlags) clientWith(env *Environment, token func(*config.Admin) string) (*adminClient, error) {
	c := &adminClient{address: f.Admin}
	c.token, _ = env.Lookup(cmp.Or(f.TokenEnv, standardTokenEnv))
	file := f.Config
	if file == "" && f.Admin == "" {
		file = "kasoku.yaml"
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			file = ""
		}
	}
	if file == "" {
		c.address = cmp.Or(c.address, standardAdmin)
		return c, nil
	}
	a, err := config.ReadAdmin(file, env.Lookup, c.token)
	if err != nil {
		return nil, fmt.Errorf("the admin address and token can't be read from %s; give --admin and --token-env, or: %w", file, err)
	}
	if c.address == "" {
		if c.address = a.URL(); c.address == "" {
			return nil, fmt.Errorf("%s: admin.listen %s has no port; give --admin", file, a.Listen)
		}
	}
	if f.TokenEnv == "" {
		c.token = token(a)
	}
	return c, nil
}

// adminClient is a client for the admin API of a running Kasoku.
type adminClient struct {
	address string
	token   string
}

const adminTimeout = 30 * time.Second

func (a *adminClient) post(path string, request, response any) error {
	return a.postContext(context.Background(), path, request, response)
}

func (a *adminClient) postContext(ctx context.Context, path string, request, response any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return a.do(ctx, http.MethodPost, path, body, response)
}

func (a *adminClient) get(path string, response any) error {
	return a.do(context.Background(), http.MethodGet, path, nil, response)
}

func (a *adminClient) do(ctx context.Context, method, path string, body []byte, response any) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	resp, err := a.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminAnswer))
	if err != nil {
		return fmt.Errorf("the admin API's answer broke off: %w", err)
	}
	if err := json.Unmarshal(data, response); err != nil {
		return fmt.Errorf("%s does not answer like Kasoku's admin API: %w", a.address, err)
	}
	return nil
}

// stream posts a request whose answer is a sequence of JSON values, and calls next for each.
func (a *adminClient) stream(ctx context.Context, path string, request any, next func(*json.Decoder) error) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	resp, err := a.send(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		switch err := next(d); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the admin API's answer broke off: %w", err)
		}
	}
}

// maxAdminAnswer is the maximum length of an answer.
const maxAdminAnswer = 8 << 20

// send sends a request and returns the answer if its status is 200.
func (a *adminClient) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	client, base, err := a.client()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("no answer from the admin API: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminAnswer))
	if err != nil {
		return nil, fmt.Errorf("the admin API's answer broke off: %w", err)
	}
	var f admin.Failure
	if json.Unmarshal(data, &f) != nil || f.Error == "" {
		f.Error = http.StatusText(resp.StatusCode)
	}
	return nil, fmt.Errorf("refused by %s with status %d: %s", a.address, resp.StatusCode, f.Error)
}

// client returns an HTTP client that never uses a proxy: a token must only be sent to the
// admin server.
func (a *adminClient) client() (*http.Client, string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if path, ok := strings.CutPrefix(a.address, "unix:"); ok {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return &http.Client{Transport: transport}, "http://localhost", nil
	}
	u, err := url.Parse(a.address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, "", fmt.Errorf("--admin is no URL such as http://127.0.0.1:9090: %s", a.address)
	}
	return &http.Client{Transport: transport}, strings.TrimRight(a.address, "/"), nil
}
