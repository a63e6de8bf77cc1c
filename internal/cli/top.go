package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/top"
)

// topCommand shows what running Kasokus do.
type topCommand struct {
	Config   string        `short:"c" help:"The configuration file that the running Kasoku was started with, for the address and the token of its admin API; default: kasoku.yaml in the working directory, if it is there." placeholder:"FILE"`
	Admin    []string      `sep:"none" help:"Admin address instead of the file's: a URL, or unix:/path; without either http://127.0.0.1:9090. May be repeated, for the nodes of a cluster." placeholder:"URL"`
	TokenEnv string        `help:"Environment variable with the admin token, instead of the file's; default where there is no file: KASOKU_ADMIN_TOKEN." placeholder:"NAME"`
	Interval time.Duration `default:"2s" help:"The time between two polls, of which the figures are; default: 2s." placeholder:"DURATION"`
	Once     bool          `help:"Print the figures of one interval as text, and end."`
}

// The limits of --interval.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

// Validate is called by kong after parsing.
func (c *topCommand) Validate() error {
	if c.Interval < minInterval || c.Interval > maxInterval {
		return fmt.Errorf("--interval must be between %v and %v", minInterval, maxInterval)
	}
	return nil
}

func (c *topCommand) Run(env *Environment) error {
	sources, err := c.sources(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // also SIGHUP: the terminal was closed
		select {
		case <-env.Signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	if c.Once {
		return top.Print(ctx, sources, c.Interval, env.Stdout, columns(env), 1)
	}
	in, out := terminalOf(env.Stdin), terminalOf(env.Stdout)
	if in == nil || out == nil {
		return fail(codeUsage, errors.New("kasoku top needs a terminal; kasoku top --once prints one screen as text"))
	}
	if name, _ := env.Lookup("TERM"); name == "dumb" {
		return top.Print(ctx, sources, c.Interval, env.Stdout, columns(env), 0)
	}
	plain, _ := env.Lookup("NO_COLOR")
	return top.Run(ctx, sources, c.Interval, in, out, plain == "")
}

// sources returns the Kasokus to poll.
func (c *topCommand) sources(env *Environment) (all []top.Source, err error) {
	addresses := c.Admin
	if len(addresses) == 0 {
		addresses = []string{""}
	}
	for _, address := range addresses {
		f := adminFlags{Config: c.Config, Admin: address, TokenEnv: c.TokenEnv}
		client, err := f.clientWith(env, keysToken)
		if err != nil {
			return nil, err
		}
		all = append(all, &topSource{client})
	}
	return all, nil
}

// terminalOf returns the file of a terminal, or nil.
func terminalOf(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(f.Fd()) {
		return f
	}
	return nil
}

// columns returns the width of the terminal, or that of the variable COLUMNS, or 80.
func columns(env *Environment) int {
	if f := terminalOf(env.Stdout); f != nil {
		if w, _, err := term.GetSize(f.Fd()); err == nil && w > 0 {
			return w
		}
	}
	text, _ := env.Lookup("COLUMNS")
	if w, err := strconv.Atoi(text); err == nil && w > 0 {
		return min(w, 1000)
	}
	return 80
}

// topSource is a running Kasoku, by its admin API.
type topSource struct{ *adminClient }

// Address returns the address of the admin API.
func (s *topSource) Address() string { return s.address }

// maxReport is the maximum length of a report with histograms, which has some hundred bytes for each
// of many tables.
const maxReport = 64 << 20

// Report requests the report, with histograms.
func (s *topSource) Report(ctx context.Context) (*admin.ReportJSON, error) {
	resp, err := s.send(ctx, http.MethodGet, "/api/v1/report?format=json&histograms=1", nil)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			return nil, e.Err // without the address, which is shown beside it
		}
		return nil, err
	}
	defer resp.Body.Close()
	j := new(admin.ReportJSON)
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReport)).Decode(j); err != nil {
		return nil, fmt.Errorf("it does not answer like Kasoku's admin API: %w", err)
	}
	return j, nil
}

// Keys requests the first keys of a table and its throttled requests.
func (s *topSource) Keys(ctx context.Context, service, table string) (*admin.TableKeys, error) {
	const keys = "20"
	q := url.Values{"n": {keys}, "service": {service}, "table": {table}}
	resp, err := s.send(ctx, http.MethodGet, "/api/v1/keys?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var j admin.KeysJSON
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAdminAnswer)).Decode(&j); err != nil {
		return nil, err
	}
	for i := range j.Tables {
		if j.Tables[i].Table == table {
			return &j.Tables[i], nil
		}
	}
	return nil, nil
}

// Explain explains a line in the form of the arguments of kasoku explain.
func (s *topSource) Explain(ctx context.Context, service, line string) (*admin.Explanation, error) {
	c := explainCommand{Service: service}
	c.What, c.Table, _ = strings.Cut(line, " ")
	c.Table, c.Key, _ = strings.Cut(strings.TrimSpace(c.Table), " ")
	c.Key = strings.TrimSpace(c.Key)
	if err := c.Validate(); err != nil {
		return nil, err
	}
	request, err := c.request()
	if err != nil {
		return nil, err
	}
	request.Service = service
	e := new(admin.Explanation)
	return e, s.postContext(ctx, "/api/v1/explain", request, e)
}
