package advice

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

func share(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// tableSetting returns the line that sets a key of a table, or of the pattern that has its settings:
// of several patterns that match, only the first one is used.
func tableSetting(service string, t *Table, key, value string) string {
	return fmt.Sprintf("services: {%q: {tables: {%q: {%s: %s}}}}", service, cmp.Or(t.Pattern, t.Name), key, value)
}

// span returns a time as it is written in a configuration.
func span(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d > 0 && d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return d.String()
}
