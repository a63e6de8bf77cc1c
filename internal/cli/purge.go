package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/purge"
)

type purgeCommand struct {
	adminFlags
	Service   string  `help:"The service to drop from." required:"" placeholder:"NAME"`
	Table     *string `help:"Only this table." placeholder:"NAME" xor:"which"`
	Partition *string `help:"Only this partition of the table: the partition key's value, or as an attribute value such as {\"N\":\"42\"}." placeholder:"VALUE" xor:"what"`
	Key       *string `help:"Only this item of the table: its key, such as {\"id\":{\"S\":\"7\"}}. For a service of type memcached, without --table, only this key, as the application writes it." placeholder:"KEY" xor:"what"`
	URL       *string `help:"Only this URL, as clients request it, with its query." placeholder:"URL" xor:"which"`
	Prefix    *string `help:"Only URLs that begin like this: http://host/path." placeholder:"URL" xor:"which"`
	Pattern   *string `help:"Only URLs that match completely: * matches any text." placeholder:"PATTERN" xor:"which"`
	Tag       *string `help:"Only answers with this tag in Surrogate-Key or Cache-Tag." placeholder:"TAG" xor:"which"`
	Soft      bool    `help:"Mark as stale instead of dropping: fetched again for the next request, and still served if the origin fails."`
	JSON      bool    `help:"Print JSON."`
}

// Validate is called by kong after parsing. It refuses a flag with an empty value, for
// example from an unset variable in a script, which would purge more than was meant.
func (c *purgeCommand) Validate() error {
	flags := []purgeFlag{{"table", c.Table}, {"partition", c.Partition}, {"key", c.Key}}
	for _, kind := range purge.Kinds() {
		flags = append(flags, purgeFlag{kind.String(), c.selectors()[kind]})
	}
	for _, f := range flags {
		if f.value != nil && *f.value == "" {
			return fmt.Errorf("--%s is empty", f.name)
		}
	}
	if c.Table == nil && c.Partition != nil {
		return errors.New("--partition needs --table")
	}
	if c.Key != nil && c.Table != nil && !json.Valid([]byte(*c.Key)) {
		return fmt.Errorf("--key is not JSON: %s", *c.Key)
	}
	return nil
}

// purgeFlag is a flag that selects entries.
type purgeFlag struct {
	name  string
	value *string
}

// selectors returns the flag of each kind of selector, nil if it is not set.
func (c *purgeCommand) selectors() map[purge.Kind]*string {
	return map[purge.Kind]*string{
		purge.URL: c.URL, purge.Prefix: c.Prefix, purge.Pattern: c.Pattern, purge.Tag: c.Tag,
	}
}

func (c *purgeCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	var result admin.PurgeResult
	if err := client.post("/api/v1/purge", c.request(), &result); err != nil {
		return fail(codeInput, err)
	}
	if c.JSON {
		return json.NewEncoder(env.Stdout).Encode(result)
	}
	fmt.Fprintf(env.Stdout, "%s: dropped %s", c.Service, result.Dropped)
	if len(result.Nodes) > 0 {
		fmt.Fprintf(env.Stdout, ", on %s", strings.Join(result.Nodes, ", "))
	}
	fmt.Fprintln(env.Stdout)
	if len(result.Away) > 0 {
		fmt.Fprintf(env.Stdout, "%s: not on %s: a node that is away drops its whole cache before it serves again\n", c.Service, strings.Join(result.Away, ", "))
	}
	return nil
}

// request returns the request that the flags describe.
func (c *purgeCommand) request() admin.PurgeRequest {
	r := admin.PurgeRequest{Service: c.Service, Soft: c.Soft}
	if c.Table != nil {
		r.Table = *c.Table
	}
	if c.Partition != nil {
		r.Partition = partition(*c.Partition)
	}
	switch {
	case c.Key == nil:
	case c.Table == nil:
		r.Key = quoted(*c.Key)
	default:
		r.Key = json.RawMessage(*c.Key)
	}
	for kind, text := range c.selectors() {
		if text != nil {
			r.Selector = purge.By(kind, *text)
		}
	}
	return r
}

// partition returns an attribute value unchanged, and other text as a string value.
func partition(value string) json.RawMessage {
	if strings.HasPrefix(strings.TrimSpace(value), "{") && json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	return quoted(value)
}

// quoted returns text as a JSON string.
func quoted(value string) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return text
}
