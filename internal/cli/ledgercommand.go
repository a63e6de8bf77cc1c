package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// ledgerCommand prints the capacity that requests have used and saved.
type ledgerCommand struct {
	adminFlags
	Since   span   `help:"The period until now, such as 24h or 7d, of at most 30d." default:"24h" placeholder:"TIME"`
	By      string `help:"Sum up by these properties, separated by commas: hour, service, table, index, operation, shape (the form of a query, without values), principal." default:"service,table" placeholder:"LIST"`
	Service string `help:"Only this service." placeholder:"NAME"`
	Table   string `help:"Only this table." placeholder:"NAME"`
	JSON    bool   `help:"Print JSON."`
}

// Validate is called by kong after parsing.
func (c *ledgerCommand) Validate() error {
	if _, err := ledger.ParseGroups(c.By); err != nil {
		return fmt.Errorf("--by: %w", err)
	}
	if c.Since <= 0 || time.Duration(c.Since) > ledger.Retention {
		return errors.New("--since must be a time of at most 30d")
	}
	return nil
}

func (c *ledgerCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	q := url.Values{"since": {time.Duration(c.Since).String()}, "by": {c.By}}
	if c.Service != "" {
		q.Set("service", c.Service)
	}
	if c.Table != "" {
		q.Set("table", c.Table)
	}
	var s ledger.Statement
	if err := client.get("/api/v1/ledger?"+q.Encode(), &s); err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(env.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(s)
	}
	fmt.Fprintf(env.Stderr, "from %s to %s UTC", s.From.Format("2006-01-02 15:04"), s.Until.Format("2006-01-02 15:04"))
	switch {
	case s.PriceDate != "":
		fmt.Fprintf(env.Stderr, ", prices of on-demand tables in %s", s.PriceDate)
	case s.Currency != "":
		fmt.Fprint(env.Stderr, ", prices of the configuration")
	}
	fmt.Fprintln(env.Stderr)
	admin.WriteStatement(env.Stdout, &s, shown)
	return nil
}

// span is a duration that may be a number of days, such as 7d.
type span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		*s = span(time.Duration(n) * 24 * time.Hour)
		return err
	}
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}
