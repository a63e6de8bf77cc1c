package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
)

type explainCommand struct {
	adminFlags
	What    string   `arg:"" name:"what" help:"An operation of DynamoDB, such as GetItem, Query or PutItem; or a URL, as clients request it."`
	Table   string   `arg:"" optional:"" name:"table" help:"The table."`
	Key     string   `arg:"" optional:"" name:"key" help:"The item's key: an object such as {\"id\":{\"S\":\"7\"}}, or id=7, with id:N=7 for a number and a comma before another attribute. For a Query, the values of the key attributes."`
	Service string   `help:"The service, if several match." placeholder:"NAME"`
	Body    string   `help:"The whole request of the operation, as JSON, instead of a table and a key." placeholder:"JSON"`
	Method  string   `help:"The method of the request for a URL; default: GET." placeholder:"NAME"`
	Header  []string `short:"H" sep:"none" help:"A header line of the request for a URL, such as 'Accept-Language: ja'; may be repeated." placeholder:"LINE"`
	JSON    bool     `help:"Print JSON."`
}

// isURL reports whether the argument is a URL or a path.
func (c *explainCommand) isURL() bool { return strings.ContainsAny(c.What, "/") }

// Validate is called by kong after parsing.
func (c *explainCommand) Validate() error {
	switch {
	case c.isURL() && (c.Table != "" || c.Body != ""):
		return errors.New("a URL takes no table, key and --body")
	case !c.isURL() && (c.Method != "" || len(c.Header) > 0):
		return errors.New("--method and --header are for URLs")
	case !c.isURL() && (c.Table == "") == (c.Body == ""):
		return errors.New("an operation needs a table, or --body")
	case c.Body != "" && !json.Valid([]byte(c.Body)):
		return fmt.Errorf("--body is not JSON: %s", c.Body)
	}
	return nil
}

func (c *explainCommand) Run(env *Environment) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	client, err := c.client(env)
	if err != nil {
		return err
	}
	if request.Service, err = c.service(client); err != nil {
		return err
	}
	var e admin.Explanation
	if err := client.post("/api/v1/explain", request, &e); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(env.Stdout).Encode(e)
	}
	fmt.Fprintf(env.Stdout, "%s: %s\n", strings.TrimSpace(c.What+" "+c.Table), e.Decision)
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range e.Steps {
		line := "  " + s.What + "\t" + s.Value
		if s.Note != "" {
			line += "\t" + s.Note
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

func (c *explainCommand) request() (admin.ExplainRequest, error) {
	r := admin.ExplainRequest{Headers: map[string]string{}}
	if c.isURL() {
		r.Path, r.Method = c.What, c.Method
		for _, line := range c.Header {
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return r, fmt.Errorf("--header is no line such as 'Accept: text/html': %s", line)
			}
			r.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		return r, nil
	}
	r.Headers["X-Amz-Target"] = c.What
	r.Body = json.RawMessage(c.Body)
	if c.Body == "" {
		body, err := c.body()
		if err != nil {
			return r, err
		}
		if r.Body, err = json.Marshal(body); err != nil {
			return r, err
		}
	}
	return r, nil
}

// body returns the request of an operation for one item, or for the items with its key.
func (c *explainCommand) body() (map[string]any, error) {
	body := map[string]any{"TableName": c.Table}
	if c.Key == "" {
		return body, nil
	}
	key, err := accel.ParseKey(c.Key)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(c.What) {
	case "query":
		var conditions []string
		names, values := map[string]string{}, map[string]json.RawMessage{}
		for i, name := range slices.Sorted(maps.Keys(key)) {
			conditions = append(conditions, fmt.Sprintf("#k%d = :k%d", i, i))
			names[fmt.Sprintf("#k%d", i)], values[fmt.Sprintf(":k%d", i)] = name, key[name]
		}
		body["KeyConditionExpression"] = strings.Join(conditions, " AND ")
		body["ExpressionAttributeNames"], body["ExpressionAttributeValues"] = names, values
	case "putitem":
		body["Item"] = key
	case "batchgetitem":
		return map[string]any{"RequestItems": map[string]any{c.Table: map[string]any{"Keys": []any{key}}}}, nil
	default:
		body["Key"] = key
	}
	return body, nil
}

// service returns the name of the service: --service, or the only one that matches.
func (c *explainCommand) service(client *adminClient) (string, error) {
	if c.Service != "" {
		return c.Service, nil
	}
	var all []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	if err := client.get("/api/v1/services", &all); err != nil {
		return "", err
	}
	var names []string
	for _, s := range all {
		if (s.Type == "dynamodb") != c.isURL() {
			names = append(names, s.Name)
		}
	}
	if len(names) == 1 {
		return names[0], nil
	}
	what := "operations of DynamoDB"
	if c.isURL() {
		what = "URLs"
	}
	return "", fmt.Errorf("choose a service that has %s with --service: %s", what, cmp.Or(strings.Join(names, ", "), "there is none"))
}
