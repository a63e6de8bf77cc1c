package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/pause"
)

type warmCommand struct {
	adminFlags
	Service string `arg:"" name:"service" help:"The service whose cache is filled."`
	From    string `help:"Read a list from this file, or from standard input with -: a line for each entry, with a table and the key of an item as for explain, or GetItem, Query or Scan and a request as JSON; for services with URLs, a URL." placeholder:"FILE"`
	Peer    string `help:"Take over the hottest answers of this node of the cluster instead." placeholder:"NODE"`
	Rate    int    `help:"The maximum number of entries per second; default: 100, with --peer 10000." placeholder:"N"`
	Keys    int    `help:"The maximum number of answers to take over from a node; default: 100000." placeholder:"N"`
	JSON    bool   `help:"Print JSON."`
}

// The defaults of the flags.
const (
	warmRate     = 100
	warmPeerRate = 10_000
	warmKeys     = 100_000
)

// Validate is called by kong after parsing.
func (c *warmCommand) Validate() error {
	switch {
	case (c.From == "") == (c.Peer == ""):
		return errors.New("give either --from or --peer")
	case c.Rate < 0 || c.Keys < 0:
		return errors.New("--rate and --keys must be positive")
	case c.Keys != 0 && c.Peer == "":
		return errors.New("--keys is for --peer")
	}
	return nil
}

// warmTotals counts the entries by outcome. It is printed at the end.
type warmTotals struct {
	Filled      uint64 `json:"filled"`
	Present     uint64 `json:"present"`
	Uncacheable uint64 `json:"uncacheable"`
	Absent      uint64 `json:"absent,omitempty"`
	Failed      uint64 `json:"failed"`
	Bytes       uint64 `json:"bytes,omitempty"`
	Error       string `json:"error,omitempty"` // why it has ended early
}

func (t *warmTotals) count(o admin.WarmOutcome) {
	switch o {
	case admin.WarmFilled:
		t.Filled++
	case admin.WarmPresent:
		t.Present++
	case admin.WarmUncacheable:
		t.Uncacheable++
	default:
		t.Failed++
	}
}

func (t *warmTotals) total() uint64 {
	return t.Filled + t.Present + t.Uncacheable + t.Absent + t.Failed
}

func (t *warmTotals) String() string {
	text := fmt.Sprintf("%d filled, %d already there, %d not cacheable", t.Filled, t.Present, t.Uncacheable)
	if t.Absent > 0 {
		text += fmt.Sprintf(", %d no longer there", t.Absent)
	}
	return text + fmt.Sprintf(", %d failed", t.Failed)
}

func (c *warmCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	ctx, cancel := untilSignal(env)
	defer cancel()
	run := warmRun{client: client, service: c.Service, bar: newProgressBar(env), errors: env.Stderr}
	run.send = func(ctx context.Context, request *admin.WarmRequest) (result admin.WarmResult, err error) {
		err = client.postContext(ctx, warmPath, request, &result)
		return result, err
	}
	if c.Peer != "" {
		err = run.fromPeer(ctx, c.Peer, cmp.Or(c.Keys, warmKeys), cmp.Or(c.Rate, warmPeerRate))
	} else {
		err = c.fromList(ctx, env, &run)
	}
	run.bar.clear()
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil && run.totals.total() == 0 {
		return err
	}
	if err != nil {
		run.totals.Error = err.Error()
	}
	if c.JSON {
		if err := json.NewEncoder(env.Stdout).Encode(&run.totals); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(env.Stdout, "%s: %s\n", c.Service, &run.totals)
	}
	if err == nil && run.totals.Failed > 0 {
		return fail(codeInput, nil) // the lines were printed
	}
	return err
}

// untilSignal returns a context that ends with a signal to stop.
func untilSignal(env *Environment) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case s := <-env.Signals:
				if s == os.Interrupt || s == syscall.SIGTERM {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// fromList fills the entries of the list.
func (c *warmCommand) fromList(ctx context.Context, env *Environment, run *warmRun) error {
	in, name, size := env.Stdin, "standard input", int64(0)
	if c.From != "-" {
		f, err := os.Open(c.From)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		in, name = f, c.From
	}
	return run.fromList(ctx, newEntryReader(in, name), size, cmp.Or(c.Rate, warmRate))
}

// warmRun fills a service's cache.
type warmRun struct {
	client  *adminClient
	send    func(ctx context.Context, request *admin.WarmRequest) (admin.WarmResult, error) // fills entries
	service string
	bar     *progressBar
	errors  io.Writer // has a line for each entry that is not filled
	totals  warmTotals
}

const warmPath = "/api/v1/warm"

// fromPeer takes answers over from another node.
func (r *warmRun) fromPeer(ctx context.Context, peer string, keys, rate int) error {
	request := admin.WarmRequest{Service: r.service, Peer: peer, Keys: keys, Rate: rate}
	done := false
	var failed error
	err := r.client.stream(ctx, warmPath, request, func(d *json.Decoder) error {
		var p admin.WarmProgress
		if err := d.Decode(&p); err != nil {
			return err
		}
		r.totals = warmTotals{Filled: p.Filled, Present: p.Present, Uncacheable: p.Uncacheable, Absent: p.Absent, Bytes: p.Bytes}
		r.bar.show(r.totals.total(), p.Part)
		if done = p.Done; p.Error != "" {
			failed = errors.New(p.Error)
		}
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case !done:
		return errors.New("the admin API's answer broke off")
	}
	return nil
}

const (
	// maxWarmBatch is the maximum number of entries in a request.
	maxWarmBatch = 100
	// maxBatchBytes is the size from which a request takes no further entry.
	maxBatchBytes = 256 << 10
	// batchesPerSecond is the number of requests per second, at most.
	batchesPerSecond = 5
)

// fromList fills the entries of a list of a size in bytes, 0 if that is unknown, at a rate.
func (r *warmRun) fromList(ctx context.Context, list *entryReader, size int64, rate int) error {
	limit := min(max(rate/batchesPerSecond, 1), maxWarmBatch)
	for more := true; more; {
		start := time.Now()
		var batch []entry
		bytes := 0
		for len(batch) < limit && bytes < maxBatchBytes {
			e, err := list.next()
			if err != nil && !errors.Is(err, errBadEntry) {
				if err != io.EOF {
					return err
				}
				more = false
				break
			}
			if err != nil {
				r.bad(&e, err.Error())
				continue
			}
			batch, bytes = append(batch, e), bytes+len(e.text)
		}
		if len(batch) == 0 {
			continue
		}
		if err := r.fill(ctx, batch); err != nil {
			return err
		}
		part := 0.0
		if size > 0 {
			part = float64(list.read) / float64(size)
		}
		r.bar.show(r.totals.total(), part)
		period := time.Duration(len(batch)) * time.Second / time.Duration(rate)
		if !pause.For(ctx, period-time.Since(start)) {
			return ctx.Err()
		}
	}
	return nil
}

// fill fills some entries.
func (r *warmRun) fill(ctx context.Context, batch []entry) error {
	request := admin.WarmRequest{Service: r.service}
	for _, e := range batch {
		request.Entries = append(request.Entries, e.text)
	}
	result, err := r.send(ctx, &request)
	if err != nil {
		return err
	}
	if len(result.Results) != len(batch) {
		return errors.New("the admin API has not answered for all entries")
	}
	for i, res := range result.Results {
		if res.Error != "" {
			r.bad(&batch[i], res.Error)
			continue
		}
		r.totals.count(res.Outcome)
	}
	return nil
}

// bad reports an entry that was not filled.
func (r *warmRun) bad(e *entry, why string) {
	r.totals.Failed++
	r.bar.clear()
	fmt.Fprintf(r.errors, "%s: %s\n", e.place, strings.ReplaceAll(why, "\n", " "))
}
