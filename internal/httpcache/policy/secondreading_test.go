package policy

import (
	"regexp"
	"slices"
	"strings"
)

// rfcCache is a cache with the default options, as the RFCs describe it: its state for one
// exchange and one stored response.
type rfcCache struct {
	o Options

	method         string
	ask            message
	status         int
	answer         message
	sent, received int64 // in microseconds
	mark           Mark
	policy         []rfcDirective
	targeted       bool
}

func newRFCCache(o Options, method string, ask message, status int, answer message, sent, received int64, mark Mark) *rfcCache {
	c := &rfcCache{o: o, method: method, ask: ask, status: status, answer: answer, sent: sent, received: received, mark: mark}
	c.policy = append(directives(answer.members("cache-control")), restricting(answer.members("cache-control"))...)
	for _, name := range o.Targets {
		text := strings.Trim(strings.Join(answer[strings.ToLower(name)], ", "), " \t")
		if text == "" {
			continue
		}
		if policy, ok := targetedDirectives(text); ok {
			c.policy, c.targeted = policy, true
			break
		}
	}
	return c
}

var restricts = regexp.MustCompile("(?i)^(no-store|no-cache|private)([^-a-z0-9!#$%&'*+.^_`|~]|$)")

// openQuotes matches the text after an unclosed quote.
var openQuotes = regexp.MustCompile(`^(?:[^"]|"(?:[^"\\]|\\.)*")*"((?:[^"\\]|\\.)*\\?)$`)

// restricting returns the restricting directives that malformed members begin with, or have
// after a comma within an unclosed quote: they apply, in doubt.
func restricting(members []string) (all []rfcDirective) {
	for _, m := range members {
		if r := restricts.FindStringSubmatch(m); r != nil && !bareDirective.MatchString(m) && !givenDirective.MatchString(m) {
			all = append(all, rfcDirective{name: strings.ToLower(r[1])})
		}
		open := openQuotes.FindStringSubmatch(m)
		if open == nil {
			continue
		}
		for _, one := range strings.Split(open[1], ",")[1:] {
			if r := restricts.FindStringSubmatch(strings.Trim(one, " \t")); r != nil {
				all = append(all, rfcDirective{name: strings.ToLower(r[1])})
			}
		}
	}
	return all
}

// hasDirective reports whether the policy that applies has a directive, without names of fields.
func (c *rfcCache) hasDirective(name string) bool {
	for _, d := range c.policy {
		if d.name == name && !d.bad && !(len(fieldsNamed(d)) > 0 && (name == "private" || name == "no-cache")) {
			return true
		}
	}
	return false
}

// fieldsNamed returns the names in the argument of private or no-cache.
func fieldsNamed(d rfcDirective) (names []string) {
	for n := range strings.SplitSeq(d.arg, ",") {
		if n = strings.Trim(n, " \t"); bareDirective.MatchString(n) {
			names = append(names, strings.ToLower(n))
		}
	}
	return names
}

// hidden returns the fields that private and no-cache name.
func (c *rfcCache) hidden() (names []string) {
	for _, d := range c.policy {
		if !d.bad && (d.name == "private" || d.name == "no-cache") {
			names = append(names, fieldsNamed(d)...)
		}
	}
	return names
}

// lifetimeOf returns the argument of the first directive of that name: RFC 9111, 4.2.1,
// "encouraged to consider responses that have invalid freshness information
// to be stale".
func (c *rfcCache) lifetimeOf(name string) (seconds int64, present bool) {
	for _, d := range c.policy {
		if d.name == name {
			n, _ := delta(d.arg)
			return n, true
		}
	}
	return 0, false
}

// micros is the number of microseconds in a second. Times and ages are in microseconds here,
// values of fields in seconds.
const micros = 1_000_000

// date is the second in which the response was created, as declared (RFC 9110, section
// 6.6.1).
func (c *rfcCache) date() int64 {
	if lines := c.answer["date"]; len(lines) > 0 {
		if t, ok := readDate(lines[0], c.received/micros); ok {
			return t
		}
	}
	return c.received / micros
}

func (c *rfcCache) lastModified() (int64, bool) {
	if lines := c.answer["last-modified"]; len(lines) > 0 {
		return readDate(lines[0], c.received/micros)
	}
	return 0, false
}

var cacheableByDefault = []int{200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501}

// freshness is RFC 9111, section 4.2.1 and 4.2.2; explicit reports explicit freshness.
func (c *rfcCache) freshness() (lifetime int64, explicit bool) {
	if n, ok := c.lifetimeOf("s-maxage"); ok {
		return n, true
	}
	if n, ok := c.lifetimeOf("max-age"); ok {
		return n, true
	}
	if lines := c.answer["expires"]; len(lines) > 0 && !c.targeted {
		if t, ok := readDate(lines[0], c.received/micros); ok && len(lines) == 1 {
			return t - c.date(), true
		}
		return 0, true
	}
	if !slices.Contains(cacheableByDefault, c.status) && !c.hasDirective("public") {
		return 0, false
	}
	if modified, ok := c.lastModified(); ok && c.date() > modified && c.o.Heuristic > 0 {
		return min((c.date()-modified)*c.o.Heuristic/100, c.o.HeuristicMax), false
	}
	return c.o.DefaultTTL, false
}

// guessed reports whether the request has a Cookie and the lifetime is heuristic: then it is
// not used.
func (c *rfcCache) guessed() bool {
	_, explicit := c.freshness()
	modified, ok := c.lastModified()
	permitted := slices.Contains(cacheableByDefault, c.status) || c.hasDirective("public")
	return len(c.ask["cookie"]) > 0 && !explicit && permitted && ok && c.date() > modified && c.o.Heuristic > 0
}

// age is RFC 9111, section 4.2.3, in its own names and in microseconds. The RFC allows the
// corrected_age_value alone to be the corrected_initial_age, which is used if date_value
// does not show whether the response was created before the request.
func (c *rfcCache) age(now int64) int64 {
	ageValue := int64(0)
	if lines := c.answer["age"]; len(lines) > 0 {
		first, _, _ := strings.Cut(lines[0], ",")
		ageValue, _ = delta(strings.Trim(first, " \t"))
	}
	apparentAge := max(0, (c.received-c.date()*micros)/micros*micros)
	responseDelay := max(0, c.received-c.sent)
	correctedAgeValue := ageValue*micros + responseDelay
	correctedInitialAge := max(apparentAge, correctedAgeValue)
	if madeBy := (c.date() + 1) * micros; madeBy > c.sent {
		correctedInitialAge = correctedAgeValue
	}
	residentTime := max(0, now-c.received)
	return correctedInitialAge + residentTime
}

func (c *rfcCache) has(name string) bool {
	lines := c.answer[name]
	return len(lines) > 0 && lines[0] != ""
}

// mayStore is RFC 9111, section 3, in its order, followed by the test for a benefit.
func (c *rfcCache) mayStore() bool {
	lifetime, explicit := c.freshness()
	asked := directives(c.ask.members("cache-control"))
	_, noStoreAsked := find(asked, "no-store")
	_, ranged := c.ask["range"]
	understands := slices.Contains(append([]int{302, 303, 307}, cacheableByDefault...), c.status)
	_, shared := c.lifetimeOf("s-maxage")
	switch {
	case c.method != "GET":
		return false
	case c.status < 200 || c.status > 599:
		return false
	case c.status == 304:
		return false
	case c.status == 206 && (!ranged || !response206(c.answer)):
		return false
	case c.status == 416 && ranged:
		return false
	case c.hasDirective("must-understand") && !understands:
		return false
	case c.hasDirective("no-store") && !c.hasDirective("must-understand"):
		return false
	case noStoreAsked:
		return false
	case c.hasDirective("private"):
		return false
	case len(c.ask["authorization"]) > 0 && !c.hasDirective("must-revalidate") && !c.hasDirective("public") && !shared:
		return false
	case !c.hasDirective("public") && !explicit && !slices.Contains(cacheableByDefault, c.status):
		return false
	case slices.Contains(c.answer.members("vary"), "*"):
		return false
	case len(c.ask["if-match"])+len(c.ask["if-unmodified-since"]) > 0:
		return false
	case len(c.answer["set-cookie"]) > 0 && (c.o.SetCookie == RefuseCookies || c.o.SetCookie == StoreCookies && !explicit):
		return false
	case c.guessed():
		return false
	}
	validator := c.has("etag") || c.has("last-modified")
	if c.hasDirective("no-cache") {
		return validator
	}
	swr, sie := c.windows()
	return validator || lifetime > 0 || swr > 0 || sie > 0
}

// response206 reports whether Content-Range specifies one part of a known whole.
func response206(m message) bool {
	lines := m["content-range"]
	if len(lines) != 1 {
		return false
	}
	p := contentRange.FindStringSubmatch(asciiLower(lines[0]))
	if p == nil {
		return false
	}
	first, _ := delta(p[1])
	last, _ := delta(p[2])
	total, _ := delta(p[3])
	return first <= last && last < total
}

// windows returns the windows of RFC 5861.
func (c *rfcCache) windows() (whileRevalidate, ifError int64) {
	whileRevalidate, ifError = c.o.StaleWhileRevalidate, c.o.StaleIfError
	if n, ok := firstNumber(c.policy, "stale-while-revalidate"); ok {
		whileRevalidate = n
	}
	if n, ok := firstNumber(c.policy, "stale-if-error"); ok {
		ifError = n
	}
	return whileRevalidate, ifError
}

// staleProhibited is RFC 9111, section 4.2.4: s-maxage incorporates proxy-revalidate
// (5.2.2.10), unless the response specifies a window itself.
func (c *rfcCache) staleProhibited(window string) bool {
	if c.hasDirective("must-revalidate") || c.hasDirective("proxy-revalidate") || c.hasDirective("no-cache") {
		return true
	}
	_, own := firstNumber(c.policy, window)
	_, shared := c.lifetimeOf("s-maxage")
	return shared && !own
}

// answerFrom is RFC 9111, section 4, for a response that is stored and selected.
func (c *rfcCache) answerFrom(now int64) Action {
	if c.method != "GET" && c.method != "HEAD" || len(c.ask["if-match"])+len(c.ask["if-unmodified-since"]) > 0 {
		return Forward
	}
	action := c.reuse(now)
	asked := directives(c.ask.members("cache-control"))
	if _, only := find(asked, "only-if-cached"); only && action == Validate {
		return GatewayTimeout
	}
	return action
}

func (c *rfcCache) reuse(now int64) Action {
	asked := directives(c.ask.members("cache-control"))
	lifetime, _ := c.freshness()
	age := c.age(now)
	remaining := lifetime*micros - age
	if c.mark == Outdated {
		remaining = min(remaining, 0)
	}
	fresh := remaining > 0
	if c.mark == Invalid || c.hasDirective("no-cache") || c.guessed() {
		return Validate
	}
	if _, no := find(asked, "no-cache"); no || len(c.ask["cache-control"]) == 0 && slices.ContainsFunc(c.ask.members("pragma"),
		func(m string) bool { return strings.EqualFold(m, "no-cache") }) {
		return Validate
	}
	// Requests' directives are advisory (5.2.1): max-age is compared with the field Age.
	if limit, ok := firstNumber(asked, "max-age"); ok && age/micros > limit {
		if reload := limit == 0; !(reload && fresh && c.hasDirective("immutable")) {
			return Validate
		}
	}
	if need, ok := firstNumber(asked, "min-fresh"); ok && remaining < need*micros {
		return Validate
	}
	if fresh {
		return Use
	}
	for _, d := range asked {
		limit, ok := delta(d.arg)
		if d.name != "max-stale" || d.bad || d.has && !ok {
			continue
		}
		if (!d.has || -remaining <= limit*micros) && !c.staleProhibited("none") {
			return Use
		}
		break
	}
	if window, _ := c.windows(); window > 0 && -remaining <= window*micros && !c.staleProhibited("stale-while-revalidate") {
		return UseAndRefresh
	}
	return Validate
}

// afterFailure is RFC 5861, section 4, and RFC 9111, section 4.2.4, for a disconnected cache.
func (c *rfcCache) afterFailure(f Failure, now int64) Action {
	lifetime, _ := c.freshness()
	staleness := c.age(now) - lifetime*micros
	asked := directives(c.ask.members("cache-control"))
	_, window := c.windows()
	wanted, _ := firstNumber(asked, "stale-if-error")
	reads := (c.method == "GET" || c.method == "HEAD") && len(c.ask["if-match"])+len(c.ask["if-unmodified-since"]) == 0
	switch {
	case reads && c.mark != Invalid && window > 0 && staleness <= window*micros && !c.staleProhibited("stale-if-error"):
		return Use
	case reads && c.mark != Invalid && wanted > 0 && staleness <= wanted*micros && !c.staleProhibited("none"):
		return Use
	case f == Failed:
		return PassOn
	case reads && c.mark != Invalid && c.o.StaleIfDisconnected > 0 && staleness <= c.o.StaleIfDisconnected*micros && !c.staleProhibited("none"):
		return Use
	}
	return GatewayTimeout
}

// notModified is RFC 9110, section 13.2.2, steps 3 and 4, with RFC 9111, section 4.3.2.
func (c *rfcCache) notModified(now int64) bool {
	if lines, ok := c.ask["if-none-match"]; ok {
		for _, line := range lines {
			if line == "*" || c.has("etag") && slices.Contains(weakTags(line), strings.TrimPrefix(c.answer["etag"][0], "W/")) {
				return true
			}
		}
		return false
	}
	if lines := c.ask["if-modified-since"]; len(lines) == 1 {
		since, ok := readDate(lines[0], now/micros)
		when, known := c.lastModified()
		if !known {
			when = c.date()
		}
		return ok && when <= since
	}
	return false
}
