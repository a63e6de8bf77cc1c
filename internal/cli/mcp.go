package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/mcp"
)

type mcpCommand struct {
	Config    string   `short:"c" help:"The configuration file of the running Kasoku, for the addresses of its service of type dynamodb and its admin API; default: kasoku.yaml in the working directory, if it is there." placeholder:"FILE"`
	Endpoint  string   `help:"The store's address instead of the file's: a URL, or unix:/path; without either http://127.0.0.1:8000. Credentials are those of the AWS SDK's default chain." placeholder:"URL"`
	Region    string   `help:"The region for signatures; default: that of AWS's address, of the file, AWS_REGION, or us-east-1." placeholder:"REGION"`
	Admin     string   `help:"The admin API's address instead of the file's: a URL, or unix:/path; without either http://127.0.0.1:9090. With --endpoint and without --admin, there are no tools that use it." placeholder:"URL"`
	TokenEnv  string   `help:"Environment variable with the admin token, instead of the file's; default where there is no file: KASOKU_ADMIN_TOKEN." placeholder:"NAME"`
	Service   string   `help:"The service for explain and snapshots; needed if there are several." placeholder:"NAME"`
	Namespace string   `help:"The access key and the region of the snapshots, for a service with namespaces: key." placeholder:"KEY/REGION"`
	Tables    []string `sep:"none" help:"Restrict the server to tables whose names match a pattern, such as 'orders*'; may be repeated." placeholder:"PATTERN"`
	Write     bool     `help:"Offer tools that change items and restore snapshots."`
}

// Validate is called by kong after parsing.
func (c *mcpCommand) Validate() error {
	if slices.Contains(c.Tables, "") {
		return errors.New("--tables: a pattern is empty")
	}
	return nil
}

func (c *mcpCommand) Run(env *Environment) error {
	store := endpointFlags{Config: c.Config, Endpoint: c.Endpoint, Region: c.Region}
	endpoint, err := store.endpoint(env)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, nil))
	o := mcp.Options{Version: thisBuild().Version, Store: endpoint, Tables: c.Tables, Write: c.Write, Log: log}
	if c.Endpoint == "" || c.Admin != "" {
		flags := adminFlags{Config: c.Config, Admin: c.Admin, TokenEnv: c.TokenEnv}
		client, err := flags.client(env)
		if err != nil {
			return err
		}
		o.Admin = &mcpAdmin{client, c.Service, c.Namespace}
	}
	log.Info("Model Context Protocol on standard input and output", "store", endpoint.Name(), "write", c.Write, "tables", strings.Join(c.Tables, ","))
	ctx, cancel := untilSignal(env)
	defer cancel()
	if err := mcp.New(o).Run(ctx, env.Stdin, env.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the connection to the client failed: %w", err)
	}
	return nil
}

// mcpAdmin is the admin API for the tools.
type mcpAdmin struct {
	client             *adminClient
	service, namespace string // may be empty
}

var _ mcp.Admin = (*mcpAdmin)(nil)

// Explain implements mcp.Admin.
func (a *mcpAdmin) Explain(ctx context.Context, operation string, body json.RawMessage) (e admin.Explanation, err error) {
	command := explainCommand{What: operation, Service: a.service}
	r := admin.ExplainRequest{Headers: map[string]string{"X-Amz-Target": operation}, Body: body}
	if r.Service, err = command.service(a.client); err != nil {
		return e, err
	}
	err = a.client.postContext(ctx, "/api/v1/explain", r, &e)
	return e, err
}

// Store implements mcp.Admin.
func (a *mcpAdmin) Store(ctx context.Context, action, snapshot string) (c admin.StoreContents, err error) {
	err = a.client.postContext(ctx, "/api/v1/store/"+action, admin.StoreRequest{Service: a.service, Namespace: a.namespace, Name: snapshot}, &c)
	return c, err
}

// Report implements mcp.Admin.
func (a *mcpAdmin) Report(ctx context.Context) (r admin.ReportJSON, err error) {
	err = a.client.do(ctx, http.MethodGet, "/api/v1/report?format=json", nil, &r)
	return r, err
}
