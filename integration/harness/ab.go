package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// Load is the report of a run of ab (ApacheBench).
type Load struct {
	Complete int
	Failed   int // no answer, or one with a different length than the first
	Non2xx   int
	Rate     float64 // answers a second
}

// AB sends the given number of requests for url over conns concurrent connections, like ab
// -n requests -c conns.
func AB(ctx context.Context, url string, requests, conns int) (Load, error) {
	program := filepath.Join(Tools(), "ab", "ab")
	if _, err := os.Stat(program); err != nil {
		program = "ab"
	}
	out, err := exec.CommandContext(ctx, program, "-q", "-s", "60", "-n", strconv.Itoa(requests), "-c", strconv.Itoa(conns), url).CombinedOutput()
	if err != nil {
		return Load{}, fmt.Errorf("ab %s: %w\n%s", url, err, out)
	}
	var l Load
	for label, value := range map[string]*int{"Complete requests": &l.Complete, "Failed requests": &l.Failed, "Non-2xx responses": &l.Non2xx} {
		if m := regexp.MustCompile(`(?m)^` + label + `: +(\d+)`).FindSubmatch(out); m != nil {
			*value, _ = strconv.Atoi(string(m[1])) // matched as digits
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
