package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kasoku/kasoku/integration/harness"
)

// browser is a tab of a Chromium of its own, which can resolve no name and so reaches nothing
// outside of this machine.
type browser struct {
	t    *testing.T
	ctx  context.Context
	host string // that the page may send requests to

	mu       sync.Mutex
	problems []string // errors of the console, violations of the policy, requests to other hosts
	requests int
}

// limit is the time after which a test gives up.
const limit = 9 * time.Minute

// within returns the time in which a condition must hold; charts of a new picture need more points.
func within() time.Duration {
	if *rewrite {
		return limit
	}
	return 2 * time.Minute
}

// open starts a browser and loads the dashboard of a node.
func open(t *testing.T, node *harness.Node) *browser {
	t.Helper()
	program := filepath.Join(harness.Tools(), "chromium", "chromium")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("chromium"); err != nil {
			t.Fatal("chromium is missing: make tools fetches it on Debian, brew install --cask chromium elsewhere")
		}
	}
	address, err := url.Parse(node.Admin)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.Flag("headless", "new"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.WSURLReadTimeout(time.Minute), chromedp.Env("DBUS_SESSION_BUS_ADDRESS=disabled:", "LANG=C.UTF-8", "TZ=UTC"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel) // waits for the process
	b := &browser{t: t, host: address.Host}
	b.ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf), chromedp.WithListener(b.observe))
	t.Cleanup(cancel)
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, audits.Enable, cdp.Empty{})
	b.size(1280, 900)
	b.do(chromedp.Navigate(node.Admin + "/"))
	return b
}

// observe records what a page must not do.
func (b *browser) observe(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		b.requests++
		b.mu.Unlock()
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != b.host {
			b.problem("a request to %s", e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.problem("an exception: %s", (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			b.problem("console.%s: %s", e.Type, strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.problem("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if e.Issue.Code != audits.InspectorIssueCodePerformanceIssue {
			b.problem("an issue: %s", e.Issue.Code)
		}
	}
}

func (b *browser) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// takeProblems returns the problems so far, and forgets them.
func (b *browser) takeProblems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.problems
	b.problems = nil
	return all
}

// quiet checks that there were no problems.
func (b *browser) quiet() {
	b.t.Helper()
	for _, p := range b.takeProblems() {
		b.t.Errorf("the page has made %s", p)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("%v; so far: %q", err, b.takeProblems())
	}
}

// call sends a command of the browser's protocol.
func call[P any](b *browser, command cdp.Command[P, cdp.Empty], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates an expression, whose value may be a promise.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.500s: %v; so far: %q", expression, err, b.takeProblems())
	}
	return value
}

func (b *browser) text(expression string) string {
	b.t.Helper()
	return eval[string](b, expression)
}

// until waits until an expression is true. The page's policy forbids the functions from texts that
// chromedp polls with.
func (b *browser) until(expression string) {
	b.t.Helper()
	poll, end := time.NewTicker(50*time.Millisecond), time.NewTimer(within())
	defer poll.Stop()
	defer end.Stop()
	for !eval[bool](b, "Boolean("+expression+")") {
		select {
		case <-poll.C:
		case <-end.C:
			b.t.Fatalf("it is never so: %s; %s", expression, b.text(`JSON.stringify({
				focus: document.activeElement.outerHTML.slice(0, 200), dialogs: [...document.querySelectorAll('dialog[open]')].map((d) => d.textContent),
				states: [...document.querySelectorAll('[role=status], [role=alert]')].map((e) => e.textContent),
			})`))
		}
	}
}

// size sets the size of the page's window.
func (b *browser) size(width, height int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
	b.until(fmt.Sprintf("innerWidth === %d", width))
}

// scheme sets the preferred colours, which are light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	b.until(fmt.Sprintf("matchMedia('(prefers-color-scheme: %s)').matches", name))
}

// maxTabs is the maximum number of elements that the keyboard has to pass to get to one.
const maxTabs = 300

// tabTo presses the tab key until the element of a selector has the focus.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	for range maxTabs {
		if eval[bool](b, fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector)) {
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("the tab key does not lead to %s", selector)
}

// press presses keys, or types a text.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// violation is a violation of a rule of axe-core.
type violation struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// rules checks the rules of axe-core, and that nothing is wider than the window.
func (b *browser) rules(name string) {
	b.t.Helper()
	if !eval[bool](b, "'axe' in window") {
		source, err := os.ReadFile(filepath.Join(harness.Tools(), "node-axe", "node_modules", "axe-core", "axe.min.js"))
		if err != nil {
			b.t.Fatalf("axe-core is missing (make tools): %v", err)
		}
		eval[bool](b, string(source)+";true")
	}
	result := b.text(`axe.run(document, {resultTypes: ['violations'], preload: false}).then((r) => JSON.stringify({passes: r.passes.length, violations: r.violations}))`)
	var all struct {
		Passes     int
		Violations []violation
	}
	if err := json.Unmarshal([]byte(result), &all); err != nil {
		b.t.Fatal(err)
	}
	if all.Passes < 20 {
		b.t.Errorf("%s: only %d rules were checked", name, all.Passes)
	}
	for _, v := range all.Violations {
		for _, n := range v.Nodes {
			b.t.Errorf("%s: %s (%s): %s\n%s", name, v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
	wide := b.text(`(() => {
		const page = document.documentElement;
		if (page.scrollWidth <= page.clientWidth) return '';
		const over = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > page.clientWidth && !e.closest('.scroll'));
		return page.scrollWidth + ' > ' + page.clientWidth + ': ' + over.slice(0, 5).map((e) => e.outerHTML.slice(0, 200)).join('\n');
	})()`)
	if wide != "" {
		b.t.Errorf("%s: the page is too wide: %s", name, wide)
	}
}
