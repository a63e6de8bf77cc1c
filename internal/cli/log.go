package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/pause"
)

// logCommand prints the records of requests as these end.
type logCommand struct {
	adminFlags
	Query  string `short:"q" help:"Print only the requests that this filter selects, such as 'table=users decision=miss* status>=400 time>50ms'." placeholder:"FILTER"`
	Number int    `short:"n" help:"End after this number of requests." placeholder:"N"`
	Follow bool   `short:"f" help:"When Kasoku ends, continue with the one that is started next."`
	JSON   bool   `help:"Print JSON: a line for each request, as in the access log."`
}

// Validate is called by kong after parsing.
func (c *logCommand) Validate() error {
	if c.Number < 0 {
		return errors.New("--number must be positive")
	}
	return nil
}

// followPause is the pause between attempts to connect to a Kasoku that has ended.
const followPause = 500 * time.Millisecond

// errLogEnded is returned when the answer ends before the client has closed it.
var errLogEnded = errors.New("the log ended: Kasoku is stopping")

func (c *logCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	ctx, cancel := untilSignal(env)
	defer cancel()
	p := logPrinter{env: env, json: c.JSON, left: c.Number}
	for away := false; ; {
		err := c.print(ctx, client, &p)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		_, silent := errors.AsType[*url.Error](err)
		if !c.Follow || !silent && !errors.Is(err, errLogEnded) {
			return err
		}
		if !silent || !away { // once for each that has ended
			fmt.Fprintf(env.Stderr, "kasoku: %v; waiting for the next one\n", err)
		}
		away = true
		pause.For(ctx, followPause)
	}
}

// print prints records until there are enough, which is no error, or the answer ends.
func (c *logCommand) print(ctx context.Context, client *adminClient, p *logPrinter) error {
	q := url.Values{"q": {c.Query}}
	if p.left > 0 {
		q.Set("n", strconv.Itoa(p.left))
	}
	resp, err := client.send(ctx, http.MethodGet, "/api/v1/log?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return errLogEnded
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errLogEnded, err)
		}
		if enough, err := p.line(line); enough || err != nil {
			return err
		}
	}
}

// logPrinter prints the lines of a log.
type logPrinter struct {
	env  *Environment
	json bool
	left int // records to print; 0: all
}

// line prints one line, and reports whether it was the last one that is wanted.
func (p *logPrinter) line(line []byte) (enough bool, err error) {
	if bytes.HasPrefix(line, []byte(`{"lost":`)) {
		var l admin.LogLost
		if err := json.Unmarshal(line, &l); err != nil {
			return false, err
		}
		fmt.Fprintf(p.env.Stderr, "kasoku: %d more requests were not printed: they are too many for this reader; -q selects some\n", l.Lost)
		return false, nil
	}
	if p.json {
		_, err = p.env.Stdout.Write(line)
	} else {
		var r logRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return false, fmt.Errorf("the answer has a line that is no record: %w", err)
		}
		_, err = fmt.Fprintln(p.env.Stdout, r.String())
	}
	p.left--
	return p.left == 0, err
}

// logRecord is a record of the access log.
type logRecord struct {
	Time      time.Time `json:"time"`
	RequestID string    `json:"request_id"`
	Service   string    `json:"service"`
	Operation string    `json:"operation"`
	Table     string    `json:"table"`
	Path      string    `json:"path"`
	Key       string    `json:"key"`
	Status    int       `json:"status"`
	Decision  string    `json:"decision"`
	Reason    string    `json:"reason"`
	Error     string    `json:"error"`
	Principal string    `json:"principal"`
	Duration  int64     `json:"duration_us"`
	Origin    int64     `json:"origin_us"`
	Client    string    `json:"client"`
	TraceID   string    `json:"trace_id"`
}

// String returns the record in columns: the time in UTC, the service, the operation, the table or
// path, the status, the decision and the duration; then the other fields that have a value.
func (r *logRecord) String() string {
	target := r.Table
	if target == "" {
		target = r.Path
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %-10s %-14s %-24s %3d %-18s %8s", r.Time.UTC().Format("15:04:05.000"),
		shown(r.Service), shown(r.Operation), shown(target), r.Status, r.Decision, micros(r.Duration))
	more := func(name, value string) {
		if value != "" {
			b.WriteString("  " + name + "=" + value)
		}
	}
	if r.Origin > 0 {
		more("origin", micros(r.Origin))
	}
	more("reason", r.Reason)
	more("error", shown(r.Error))
	more("key", r.Key)
	more("principal", shown(r.Principal))
	more("client", r.Client)
	more("request_id", shown(r.RequestID))
	more("trace_id", r.TraceID)
	return b.String()
}

// micros returns a number of microseconds as a duration in ASCII, such as 85us or 1.25ms.
func micros(n int64) string {
	return strings.Replace((time.Duration(n) * time.Microsecond).String(), "µ", "u", 1)
}

// shown returns text of a client as one word without effect on a terminal: in quotes unless it is
// plain.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || r == '"' || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
