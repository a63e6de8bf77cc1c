package admin

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Feed is a live feed of an origin from which clients of the same feed are answered.
type Feed struct {
	// Database is what it tells the changes of, as it stands in a URL.
	Database string `json:"database"`
	// Query are the parameters that clients have in common who share it, such as
	// filter=app/mine; for a POST that word stands before them.
	Query   string `json:"query"`
	Origin  string `json:"origin"`
	State   string `json:"state"`   // opening, open, resuming, ended, lost
	Clients int    `json:"clients"` // now
	Rows    int    `json:"rows"`    // that are held: the newest ones
	Bytes   int    `json:"bytes"`   // which they take
}

const (
	mostFeeds = 20 // on the page
	mostQuery = 80 // bytes of a query there
)

// feeds has a row for each of those feeds, those with the most clients first.
func feeds(b *bytes.Buffer, services []ServiceJSON) {
	if !slices.ContainsFunc(services, func(s ServiceJSON) bool { return len(s.Feeds) > 0 }) {
		return
	}
	table(b, "FEED\tDATABASE\tSTATE\tCLIENTS\tROWS\tBYTES\tORIGIN\tQUERY", services, func(s *ServiceJSON) string {
		var rows []string
		for _, f := range s.Feeds[:min(len(s.Feeds), mostFeeds)] {
			rows = append(rows, join(s.Name, f.Database, f.State, strconv.Itoa(f.Clients), strconv.Itoa(f.Rows), bytesText(uint64(f.Bytes)), f.Origin, short(f.Query)))
		}
		if more := len(s.Feeds) - len(rows); more > 0 {
			rows = append(rows, fmt.Sprintf("%s\tand %d more", s.Name, more))
		}
		return strings.Join(rows, "\n")
	})
}

func short(query string) string {
	if len(query) > mostQuery {
		return query[:mostQuery] + "..."
	}
	return query
}
