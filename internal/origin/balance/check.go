package balance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/pause"
)

// checker runs a member's checks. The caller of start and stop holds Group.changing, or is
// creating the group.
type checker struct {
	cancel context.CancelFunc // nil while no checks run
	done   chan struct{}
}

// start begins the checks that c configures, if any. The member counts as healthy until
// checks fail.
func (k *checker) start(m *member, c Check) {
	if c.Path == "" {
		m.applyChecks(c, ^uint64(0), nil)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel, k.done = cancel, make(chan struct{})
	go func() {
		defer close(k.done)
		m.check(ctx, c)
	}()
}

// stop ends the checks and waits for their end.
func (k *checker) stop() {
	if k.cancel == nil {
		return
	}
	k.cancel()
	<-k.done
	k.cancel = nil
}

// check checks the member until ctx ends.
func (m *member) check(ctx context.Context, c Check) {
	last := ^uint64(0) // one bit for each result, the newest lowest
	for {
		ejections := m.ejections()
		err := m.checkOnce(ctx, c)
		if ctx.Err() != nil {
			return
		}
		m.metrics.checks.Inc()
		last <<= 1
		if err == nil {
			last |= 1
		} else {
			m.metrics.unwell.Inc()
		}
		m.applyChecks(c, last, err)
		m.recordCheck(c, ejections, err == nil, time.Now())
		if !pause.For(ctx, c.Interval-c.Interval/10+rand.N(c.Interval/5+1)) {
			return
		}
	}
}

// applyChecks updates the member's health from the last results. err is that of the latest
// check.
func (m *member) applyChecks(c Check, last uint64, err error) {
	good := bits.OnesCount64(last & (1<<c.Window - 1))
	down := good < c.Threshold
	m.record.mu.Lock()
	was := m.down.Load()
	if err != nil {
		m.record.why = "check: " + err.Error()
	}
	if was && !down {
		m.since.Store(time.Now().UnixNano())
	}
	m.down.Store(down)
	m.record.mu.Unlock()
	switch {
	case down && !was:
		m.notify("up", "down", "check: "+err.Error())
		if m.g.hasOther(m) {
			m.waiters.cancelAll()
		}
	case was && !down:
		m.notify("down", "up", fmt.Sprintf("%d of %d checks are good", good, c.Window))
	}
}

// checkOnce makes one check.
func (m *member) checkOnce(ctx context.Context, c Check) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	judge := c.Judge
	if judge == nil {
		judge = statusJudge{c.Status, c.Body}
	}
	for target := c.Path; ; {
		status, body, err := m.fetchCheck(ctx, c, target)
		if err != nil {
			return err
		}
		other, err := judge.Judge(target, status, body)
		if err != nil || other == "" {
			return err
		}
		target = other
	}
}

// fetchCheck requests target and returns the status and the beginning of the body.
func (m *member) fetchCheck(ctx context.Context, c Check, target string) (status int, body []byte, err error) {
	in, f := m.transport.Exchange(ctx, &origin.Outbound{Method: []byte(c.Method), Host: []byte(c.Host), Target: []byte(target)})
	if f != nil {
		return 0, nil, f
	}
	defer in.Close()
	body, err = io.ReadAll(io.LimitReader(in, 64<<10))
	return in.Status, body, err
}

// statusJudge evaluates the status and a text in the body.
type statusJudge struct {
	status int
	text   string
}

// Judge implements Judge.
func (p statusJudge) Judge(_ string, status int, body []byte) (string, error) {
	switch {
	case p.status == 0 && (status < 200 || status > 399), p.status != 0 && status != p.status:
		return "", fmt.Errorf("status %d", status)
	case !bytes.Contains(body, []byte(p.text)):
		return "", fmt.Errorf("the body has no %q", p.text)
	}
	return "", nil
}
