package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
)

// keysCommand prints the keys with the highest counts.
type keysCommand struct {
	adminFlags
	Table   string `arg:"" optional:"" help:"Only the keys of this table."`
	Service string `help:"Only the tables of this service." placeholder:"NAME"`
	By      string `help:"The number that keys are ordered by: ${enum}." enum:"requests,misses,bytes,invalidations" default:"requests"`
	Number  int    `short:"n" help:"The number of keys of each table, up to 50." default:"20" placeholder:"N"`
	Start   bool   `help:"Count since the start of Kasoku, instead of the last 5 to 10 minutes."`
	JSON    bool   `help:"Print JSON."`
}

// Validate is called by kong after parsing.
func (c *keysCommand) Validate() error {
	if c.Number < 1 || c.Number > 50 {
		return errors.New("--number must be from 1 to 50")
	}
	return nil
}

func (c *keysCommand) Run(env *Environment) error {
	client, err := c.clientWith(env, keysToken)
	if err != nil {
		return err
	}
	q := url.Values{"by": {c.By}, "n": {strconv.Itoa(c.Number)}, "service": {c.Service}, "table": {c.Table}}
	if c.Start {
		q.Set("since", "start")
	}
	var keys admin.KeysJSON
	if err := client.get("/api/v1/keys?"+q.Encode(), &keys); err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(env.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(&keys)
	}
	if len(keys.Tables) == 0 {
		fmt.Fprintln(env.Stderr, "kasoku: no requests with a key were counted")
	}
	for i := range keys.Tables {
		if i > 0 {
			fmt.Fprintln(env.Stdout)
		}
		c.print(env.Stdout, &keys.Tables[i])
	}
	if !keys.Shown && len(keys.Tables) > 0 {
		fmt.Fprintln(env.Stderr, "kasoku: keys are hashes: the token of admin.keys_token_env or keys_token_file shows them")
	}
	return nil
}

// keysToken returns the token of a file that shows keys, or the other one.
func keysToken(a *config.Admin) string { return cmp.Or(a.KeysToken(), a.Token()) }

// print prints the keys of a table, and its throttled requests as sentences.
func (c *keysCommand) print(out io.Writer, t *admin.TableKeys) {
	name := shown(t.Table)
	if name == "" {
		name = t.Service
	}
	fmt.Fprintf(out, "%s (service %s) since %s: %d requests, %d misses, %d bytes, %d invalidations\n",
		name, t.Service, t.Since.Format(time.DateTime), t.Totals.Requests, t.Totals.Misses, t.Totals.Bytes, t.Totals.Invalidations)
	if list := t.Top[c.By]; len(list) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s\t+-\tSHARE\tHASH\tKEY\n", strings.ToUpper(c.By))
		for _, k := range list {
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\n", k.Count, k.Error, shareText(k.Count, total(&t.Totals, c.By)), k.Hash, printable(k.Key))
		}
		w.Flush()
	}
	for i := range t.Throttles {
		fmt.Fprintln(out, throttleText(name, &t.Throttles[i]))
	}
}

// total returns the sum of all keys in an order.
func total(t *admin.KeyTotals, by string) uint64 {
	return map[string]uint64{"requests": t.Requests, "misses": t.Misses, "bytes": t.Bytes, "invalidations": t.Invalidations}[by]
}

func shareText(n, of uint64) string {
	if of == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*float64(n)/float64(of), 'f', 1, 64) + " %"
}

// printable returns text without effect on a terminal.
func printable(text string) string {
	quoted := strconv.Quote(text)
	if quoted = quoted[1 : len(quoted)-1]; strings.ReplaceAll(quoted, `\"`, `"`) == text {
		return text
	}
	return quoted
}

// throttleText returns a row of throttled requests as a sentence.
func throttleText(table string, t *admin.KeyThrottle) string {
	var b strings.Builder
	b.WriteString(table)
	switch {
	case t.Partition != "":
		b.WriteString(", partition " + printable(t.Partition))
	case t.Key != "":
		b.WriteString(", " + printable(t.Key))
	case t.Hash != "":
		b.WriteString(", key " + t.Hash)
	}
	fmt.Fprintf(&b, ": %s ", shown(t.Reason))
	if t.Recent > 0 {
		fmt.Fprintf(&b, "%s in 5 min", times(t.Recent))
	} else {
		fmt.Fprintf(&b, "%s, the last one at %s", times(t.Count), t.Last.Format(time.DateTime))
	}
	if t.Advice != "" {
		b.WriteString("; " + t.Advice)
	}
	return b.String()
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprint(n, " times")
}
