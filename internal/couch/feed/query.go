package feed

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Form is the form of a live feed.
type Form uint8

// The forms of live feeds.
const (
	Continuous  Form = iota // a row per line, endless
	Longpoll                // one batch, as soon as there is a row
	Eventsource             // server-sent events
)

// Query is the query of a request for a live feed.
type Query struct {
	Form Form
	// Since is the position after which the feed begins, without quotes, or "now".
	Since string
	// Limit is the maximum number of rows; 0 for no limit.
	Limit int
	// Heartbeat is the interval of heartbeats while there are no rows. If it is 0, there are
	// none, and the feed ends after Timeout without a row.
	Heartbeat, Timeout time.Duration

	shared            string // the parameters that affect the rows
	design            string // the filter's design document, without "_design/"
	filterSeesRequest bool   // the filter function sees the request
	filtered          bool   // the feed has a filter
}

const (
	maxPause = time.Minute // of Heartbeat and Timeout: CouchDB's changes_timeout
	maxSince = 4 << 10
)

// ParseQuery parses the query of a request for a live feed; lastEvent is its header
// Last-Event-ID. ok is false if the feed is not shared and should be left to the node: the
// query is malformed, rare, or interpreted differently by different products.
func ParseQuery(raw string, lastEvent string) (q Query, ok bool) {
	q = Query{Since: "0", Timeout: maxPause}
	var seen, shape []string
	form := ""
	filter, view := "", ""
	if strings.ContainsAny(raw, ";") {
		return q, false
	}
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, err := parseParameter(part)
		if err != nil || slices.Contains(seen, name) {
			return q, false
		}
		seen = append(seen, name)
		ok := true
		switch name {
		case "feed":
			form = value
		case "since":
			q.Since = unquote(value)
		case "limit":
			q.Limit, ok = parsePositive(value)
		case "heartbeat":
			q.Heartbeat, ok = parseHeartbeat(value)
		case "timeout":
			q.Timeout, ok = parseTimeout(value)
		case "descending":
			ok = value == "false"
		case "seq_interval", "last-event-id": // rows without a position; a second since
			ok = false
		case "filter":
			filter = value
			shape = append(shape, part)
		case "view":
			view = value
			shape = append(shape, part)
		default:
			shape = append(shape, part)
		}
		if !ok {
			return q, false
		}
	}
	if lastEvent != "" && form == "eventsource" {
		q.Since = unquote(lastEvent)
	}
	slices.Sort(shape)
	q.shared = strings.Join(shape, "&")
	return q, len(q.Since) <= maxSince && q.Since != "" && q.parseForm(form) && q.parseFilter(filter, view)
}

// parseParameter parses a parameter. CouchDB ignores the case of names, other servers don't,
// so an upper-case name is an error.
func parseParameter(part string) (name, value string, err error) {
	name, value, _ = strings.Cut(part, "=")
	if name, err = url.QueryUnescape(name); err != nil {
		return "", "", err
	}
	if name != strings.ToLower(name) {
		return "", "", strconv.ErrSyntax
	}
	value, err = url.QueryUnescape(value)
	return name, value, err
}

func parsePositive(value string) (int, bool) {
	n, err := strconv.ParseUint(value, 10, 31)
	return int(n), err == nil && n > 0
}

func parseHeartbeat(value string) (time.Duration, bool) {
	if value == "true" {
		return maxPause, true
	}
	ms, ok := parsePositive(value)
	return min(time.Duration(ms)*time.Millisecond, maxPause), ok
}

func parseTimeout(value string) (time.Duration, bool) {
	ms, err := strconv.ParseUint(value, 10, 31)
	return min(time.Duration(ms)*time.Millisecond, maxPause), err == nil
}

func (q *Query) parseForm(name string) bool {
	switch name {
	case "continuous", "live":
		q.Form = Continuous
	case "longpoll":
		q.Form = Longpoll
	case "eventsource":
		q.Form = Eventsource
	default:
		return false
	}
	return true
}

// parseFilter parses the filter. Names that begin with an underscore are built in, others
// are functions of design documents.
func (q *Query) parseFilter(filter, view string) bool {
	q.filtered = filter != ""
	switch filter {
	case "", "_doc_ids", "_selector", "_design":
		return true
	case "_view":
		q.design, _, _ = strings.Cut(view, "/")
		return q.design != ""
	}
	design, function, found := strings.Cut(filter, "/")
	q.design, q.filterSeesRequest = design, true
	return found && design != "" && function != "" && filter[0] != '_' && !strings.Contains(function, "/")
}

// unquote removes the quotes of a position that is written as JSON, as older clients and
// Last-Event-ID do.
func unquote(since string) string {
	if len(since) > 2 && since[0] == '"' && since[len(since)-1] == '"' && !strings.ContainsAny(since, `\`) {
		return since[1 : len(since)-1]
	}
	return since
}
