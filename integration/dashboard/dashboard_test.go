// Package dashboard opens the dashboard of the admin listener in Chromium.
package dashboard

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var rewrite = flag.Bool("rewrite", false, "write docs/images/dashboard.png")

const createTable = `{"TableName":%q,"BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`

// start starts a node with a store in memory and an HTTP origin, and sends it requests until the
// test ends.
func start(t *testing.T, o harness.Options) *harness.Node {
	t.Helper()
	origin := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		fmt.Fprintln(w, r.URL)
	}))
	address, err := harness.StablePort()
	if err != nil {
		t.Fatal(err)
	}
	o.Origin, o.Service = "embedded:memory", []string{"auth: {mode: none}"}
	o.Services = []string{fmt.Sprintf("site: {type: http, listen: %q, origins: [%q]}", address, origin)}
	n := harness.Start(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	for _, table := range []string{"users", "orders"} {
		if _, err := harness.MustCall(ctx, http.DefaultClient, n.URL, "CreateTable", fmt.Sprintf(createTable, table)); err != nil {
			t.Fatal(err)
		}
	}
	var traffic sync.WaitGroup
	traffic.Go(func() { send(ctx, n.URL, "http://"+address) })
	t.Cleanup(func() {
		cancel()
		traffic.Wait()
	})
	return n
}

// send sends reads of few items, writes and requests for pages, a hundred per second or less.
func send(ctx context.Context, store, site string) {
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		operation, body := "GetItem", fmt.Sprintf(`{"TableName":"users","Key":{"id":{"S":"%d"}}}`, i*i%37)
		switch {
		case i%19 == 0:
			operation, body = "PutItem", fmt.Sprintf(`{"TableName":"users","Item":{"id":{"S":"%d"},"n":{"N":"%d"}}}`, i%37, i)
		case i%3 == 0:
			body = fmt.Sprintf(`{"TableName":"orders","Key":{"id":{"S":"%d"}}}`, i%211)
		case i%5 == 0:
			if resp, err := http.Get(fmt.Sprintf("%s/page/%d", site, i%23)); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
		_, _, _ = harness.Call(ctx, http.DefaultClient, store, operation, body)
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

// cell is an expression for the text of a cell of a table in a section.
func cell(section, row string, column int) string {
	return fmt.Sprintf("[...document.querySelectorAll('#%s tbody tr')].find((r) => r.cells[0].textContent === %q)?.cells[%d].textContent ?? ''", section, row, column)
}

// live waits until the page has figures of all kinds.
func (b *browser) live() {
	b.t.Helper()
	b.until("document.getElementById('connection').textContent === 'Live'")
	b.until("!['', '0'].includes(" + cell("services", "db", 3) + ")")
	b.until(cell("tables", "users", 2))
	b.until("document.querySelectorAll('#history rect[class^=heat]').length > 0 && document.querySelector('#history .curve').getAttribute('d')")
	b.until(cell("decisions", "db", 1))
}

// keysToken is the token that shows keys.
const keysToken = "a-token-that-shows-keys"

// throttled are faults that throttle a few writes.
const throttled = `{"bypass_cache":false,"rules":[{"operations":["PutItem"],"count":3,"error":{"type":"ProvisionedThroughputExceededException"}}]}`

func TestDashboard(t *testing.T) {
	n := start(t, harness.Options{Top: []string{"ledger: {}"}, Admin: []string{"keys_token_env: KEYS_TOKEN"}, Env: []string{"KEYS_TOKEN=" + keysToken}})
	if err := n.Faults(throttled); err != nil {
		t.Fatal(err)
	}
	b := open(t, n)
	b.live()
	b.updates()
	b.behind()
	b.explain()
	b.purge()
	b.history()
	b.keys()
	b.ledger()
	for _, width := range []int64{1280, 360} {
		for _, scheme := range []string{"light", "dark"} {
			b.size(width, 900)
			b.scheme(scheme)
			b.rules(fmt.Sprintf("%s, %d px", scheme, width))
		}
	}
	b.colours()
	b.picture()
	b.quiet()
	if b.requests < 10 {
		t.Errorf("only %d requests were observed", b.requests)
	}
}

// updates checks that rates and totals change by themselves, and that the focus is kept.
func (b *browser) updates() {
	b.tabTo("#decisions td a")
	for range 2 {
		now := b.text("document.querySelector('#decisions tbody').textContent")
		b.until(fmt.Sprintf("document.querySelector('#decisions tbody').textContent !== %q", now))
		total := b.text(cell("tables", "users", 2))
		b.until(fmt.Sprintf("%s !== %q", cell("tables", "users", 2), total))
	}
	if focus := b.text("document.activeElement.closest('section')?.id ?? ''"); focus != "decisions" {
		b.t.Errorf("the focus has moved to %q", focus)
	}
}

// behind opens the request behind a number.
func (b *browser) behind() {
	b.tabTo("#tables td a")
	b.press(kb.Enter)
	b.until("document.querySelector('#behind[open] pre')?.textContent.includes('hit')")
	text := b.text("document.getElementById('behind').textContent")
	for _, want := range []string{"GET /api/v1/report?format=json", "curl -s 'http://" + b.host, "kasoku log -q 'service=db table="} {
		if !strings.Contains(text, want) {
			b.t.Errorf("there is no %q in %s", want, text)
		}
	}
	b.rules("the dialog")
	b.press(kb.Escape)
	b.until("!document.querySelector('dialog[open]')")
	missing := b.text("[...document.querySelectorAll('td.number')].filter((c) => !c.querySelector('a[href^=\"api/v1/\"]') && c.textContent !== '–').map((c) => c.outerHTML).join('\\n')")
	if missing != "" {
		b.t.Errorf("numbers without a link: %s", missing)
	}
}

// explain asks by the keyboard alone how a request would be answered.
func (b *browser) explain() {
	b.tabTo("#tables td button")
	b.press(kb.Enter)
	b.until("document.activeElement.closest('#explain')")
	b.press("id=1")
	b.press(kb.Enter)
	b.until("document.querySelector('#explain [role=status]').textContent.includes('with the decision')")
	if steps := b.text("document.querySelector('#explain tbody').textContent"); !strings.Contains(steps, `{"id":{"S":"1"}}`) {
		b.t.Errorf("the steps are %s", steps)
	}
	b.rules("an explanation")
}

// purge drops a partition by the keyboard alone: first it is cancelled, then confirmed.
func (b *browser) purge() {
	b.tabTo("#purge select")
	b.tabTo("#purge p:nth-of-type(2) select")
	b.press("A par") // selects the option by its beginning
	b.until("document.querySelector('#purge input:not([type=checkbox])')")
	b.tabTo("#purge input")
	b.press("users")
	b.press(kb.Tab)
	b.press("1")
	b.press(kb.Enter)
	b.until("document.querySelector('#confirm[open]')?.textContent.includes('partition 1 of table users')")
	b.rules("the confirmation")
	b.press(kb.Enter) // Cancel has the focus
	b.until("!document.querySelector('dialog[open]')")
	if text := b.text("document.querySelector('#purge [role=status]').textContent"); text != "" {
		b.t.Errorf("the cancelled purge has the result %s", text)
	}
	b.tabTo("#purge button")
	b.press(kb.Enter)
	b.until("document.querySelector('#confirm[open]')")
	b.tabTo("#confirm button:last-of-type")
	b.press(kb.Enter)
	b.until("document.querySelector('#purge [role=status]').textContent.startsWith('Dropped from db: ')")
}

// history selects the day and the times at the origin with the keyboard.
func (b *browser) history() {
	b.tabTo("#history input[value='1h']")
	b.press(kb.ArrowRight)
	b.until("document.querySelector('#history .figures a').href.endsWith('since=24h')")
	b.tabTo("#history input[value='latency']")
	b.press(kb.ArrowRight)
	b.until("document.querySelectorAll('#history rect[class^=heat]').length > 0")
	for _, text := range []string{"Hit ratio from", "Requests per second: at most", "Latency: most requests took"} {
		b.until(fmt.Sprintf("[...document.querySelectorAll('#history svg')].some((s) => s.ariaLabel.startsWith(%q))", text))
	}
	b.press(kb.ArrowLeft)
	b.tabTo("#history input[value='24h']")
	b.press(kb.ArrowLeft)
	b.until("document.querySelector('#history .figures a').href.endsWith('since=1h')")
}

// keys shows the keys of a table by another order, first as hashes, and then with the token that
// shows them.
func (b *browser) keys() {
	first := "document.querySelector('#keys tbody th')?.textContent ?? ''"
	b.until("/^[0-9a-f]{16}$/.test(" + first + ")")
	b.until("document.querySelector('#keys select').value === 'orders (db)'")
	b.tabTo("#keys select")
	b.press("u")
	b.until("document.querySelector('#keys select').value === 'users (db)'")
	b.tabTo("#keys input[value='requests']")
	b.press(kb.ArrowRight)
	b.until("[...document.querySelectorAll('#keys td a')].some((a) => a.href.includes('table=users&by=misses'))")
	b.until("[...document.querySelectorAll('#keys td')].some((c) => c.textContent.startsWith('writes always reach the origin'))")
	b.rules("hashes of keys")
	b.tabTo("#keys form input")
	b.press(keysToken)
	b.press(kb.Enter)
	b.until(first + ".startsWith('{\"id\":{\"S\":')")
	b.until("document.querySelector('#keys form').hidden")
}

// ledger shows the units by table, and by operation.
func (b *browser) ledger() {
	row := func(name string) string {
		return fmt.Sprintf("[...document.querySelectorAll('#ledger tbody tr')].some((r) => r.cells[0].textContent === %q && parseFloat(r.cells[4].textContent) > 0)", name)
	}
	b.until(row("Total"))
	b.until(row("users"))
	b.tabTo("#ledger input[value='table']")
	b.press(kb.ArrowRight)
	b.until(row("GetItem"))
}

// colours checks that the dark page is another one.
func (b *browser) colours() {
	var seen []string
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		seen = append(seen, b.text("getComputedStyle(document.documentElement).backgroundColor"))
	}
	if seen[0] == seen[1] {
		b.t.Errorf("both pages are %s", seen[0])
	}
}

const (
	pictureFile  = "dashboard.png"
	pictureBytes = 150_000
	// pictureColumns is the number of points that charts of the picture in the repository have.
	pictureColumns = 24
)

// picture takes the picture of the documentation.
func (b *browser) picture() {
	b.size(1280, 1100)
	b.scheme("light")
	if *rewrite {
		b.until(fmt.Sprintf("document.querySelectorAll('#history .fill-hits').length > %d", pictureColumns))
	}
	eval[bool](b, "document.activeElement.blur(), scrollTo(0, 0), true")
	taken, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	now, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		b.t.Fatal(err)
	}
	file := filepath.Join(harness.Root(), "docs", "images", pictureFile)
	if *rewrite {
		if err := os.WriteFile(file, taken, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	stored, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	if len(data) > pictureBytes || now.Bounds() != stored.Bounds() {
		b.t.Errorf("the picture has %d bytes and %s, now it is %s", len(data), stored.Bounds(), now.Bounds())
	}
	for name, m := range map[string]image.Image{"now": now, "in the repository": stored} {
		if colours, share := painted(m); colours < 30 || share < 0.05 {
			b.t.Errorf("the picture %s has %d colours, and %.3f of it is not background", name, colours, share)
		}
	}
}

// painted returns the number of colours of a picture, and the share of the pixels that have another
// one than the two most frequent ones, which are the backgrounds.
func painted(m image.Image) (colours int, share float64) {
	counts := map[[3]uint32]int{}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			r, g, b, _ := m.At(x, y).RGBA()
			counts[[3]uint32{r, g, b}]++
		}
	}
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	backgrounds, pixels := all[len(all)-1]+all[max(0, len(all)-2)], m.Bounds().Dx()*m.Bounds().Dy()
	return len(all), 1 - float64(backgrounds)/float64(pixels)
}

// TestToken enters a wrong token and the right one with the keyboard. It is kept in the tab, and is
// in no cookie and no URL.
func TestToken(t *testing.T) {
	const token = "a-long-token-for-the-admin-api"
	b := open(t, start(t, harness.Options{Admin: []string{"token_env: ADMIN_TOKEN"}, Env: []string{"ADMIN_TOKEN=" + token}}))
	b.until("document.activeElement.id === 'token'")
	if n := b.text("String(document.querySelectorAll('section').length)"); n != "0" {
		t.Errorf("%s panels without the token", n)
	}
	b.rules("the form for the token")
	b.quiet()
	b.press("wrong")
	b.press(kb.Enter)
	b.until("document.getElementById('refused').textContent.includes('refused')")
	for _, p := range b.takeProblems() {
		if !strings.Contains(p, "401 (Unauthorized)") {
			t.Errorf("with a wrong token: %s", p)
		}
	}
	b.press(token)
	b.press(kb.Enter)
	b.live()
	b.do(chromedp.Reload())
	b.live()
	if text := b.text("location.href + document.cookie + document.documentElement.outerHTML"); strings.Contains(text, token) {
		t.Errorf("the token is in %s", text)
	}
	b.tabTo("#forget")
	b.press(kb.Enter)
	b.until("document.activeElement.id === 'token' && !document.querySelector('section') && sessionStorage.length === 0")
	b.quiet()
}
