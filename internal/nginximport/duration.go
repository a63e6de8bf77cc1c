package nginximport

import (
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

var timePart = lazyregexp.New(`^(\d{1,9})(ms|[smhdwMy]?) ?`)

// units are nginx's units of time. A number without a unit is in seconds.
var units = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "M": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour,
}

// duration parses a time as nginx writes it, for example 60, 250ms or 1m30s.
func duration(text string) (sum time.Duration, ok bool) {
	for text != "" {
		m := timePart().FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		n, _ := strconv.Atoi(m[1])
		if n > int((100*365*24*time.Hour)/units[m[2]]) {
			return 0, false
		}
		sum += time.Duration(n) * units[m[2]]
		text, ok = text[len(m[0]):], true
	}
	return sum, ok && sum > 0 && sum < 100*365*24*time.Hour
}

// short formats d without trailing zero units: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
