// Package service tests services of type couchdb before CouchDB-like nodes as their
// users meet them.
package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/kasoku/kasoku/integration/harness"
)

// Load is what ab tells of a run.
type Load struct {
	Complete int
	Failed   int // no answer, or one of another length than the first
	Non2xx   int
	Rate     float64 // answers a second
}

// AB asks url so many times, from 30 connections at once, each for one request, as
// ab -n requests -c 30 does.
func AB(ctx context.Context, url string, requests int) (Load, error) {
	program := filepath.Join(harness.Tools(), "ab", "ab")
	if _, err := os.Stat(program); err != nil {
		program = "ab"
	}
	out, err := exec.CommandContext(ctx, program, "-q", "-s", "60", "-n", strconv.Itoa(requests), "-c", "30", url).CombinedOutput()
	if err != nil {
		return Load{}, fmt.Errorf("ab %s: %w\n%s", url, err, out)
	}
	var l Load
	for label, value := range map[string]*int{"Complete requests": &l.Complete, "Failed requests": &l.Failed, "Non-2xx responses": &l.Non2xx} {
		if m := regexp.MustCompile(`(?m)^` + label + `: +(\d+)`).FindSubmatch(out); m != nil {
			*value, _ = strconv.Atoi(string(m[1])) // digits
		}
	}
	if m := regexp.MustCompile(`(?m)^Requests per second: +([\d.]+)`).FindSubmatch(out); m != nil {
		l.Rate, _ = strconv.ParseFloat(string(m[1]), 64)
	}
	if l.Complete != requests {
		return l, fmt.Errorf("ab %s: %d of %d requests are complete\n%s", url, l.Complete, requests, out)
	}
	return l, nil
}
