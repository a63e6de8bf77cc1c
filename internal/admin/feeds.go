package admin

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Feed is a live feed of an origin that is shared by clients of the same feed.
type Feed struct {
	// Database is the name of the database, as in its URL.
	Database string `json:"database"`
	// Query are the parameters that the clients have in common, such as filter=app/mine; for
	// a POST, that word precedes them.
	Query   string `json:"query"`
	Origin  string `json:"origin"`
	State   string `json:"state"`   // opening, open, resuming, ended, lost
	Clients int    `json:"clients"` // now
	Rows    int    `json:"rows"`    // number of kept rows, the newest ones
	Bytes   int    `json:"bytes"`   // size of the kept rows
}

const (
	maxFeeds = 20 // on the page
	maxQuery = 80 // bytes of a query there
)

// feeds adds a row for each feed, in descending order of clients.
func feeds(b *bytes.Buffer, services []ServiceJSON) {
	if !slices.ContainsFunc(services, func(s ServiceJSON) bool { return len(s.Feeds) > 0 }) {
		return
	}
	table(b, "FEED\tDATABASE\tSTATE\tCLIENTS\tROWS\tBYTES\tORIGIN\tQUERY", services, func(s *ServiceJSON) string {
		var rows []string
		for _, f := range s.Feeds[:min(len(s.Feeds), maxFeeds)] {
			rows = append(rows, join(s.Name, f.Database, f.State, strconv.Itoa(f.Clients), strconv.Itoa(f.Rows), bytesText(uint64(f.Bytes)), f.Origin, short(f.Query)))
		}
		if more := len(s.Feeds) - len(rows); more > 0 {
			rows = append(rows, fmt.Sprintf("%s\tand %d more", s.Name, more))
		}
		return strings.Join(rows, "\n")
	})
}

func short(query string) string {
	if len(query) > maxQuery {
		return query[:maxQuery] + "..."
	}
	return query
}
