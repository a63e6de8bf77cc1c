package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
	"github.com/kasoku/kasoku/internal/memcached/ring"
)

const (
	countHit   = "plain memcached hit"
	countJSONP = "memcached hit with JSONP"

	nameMemcachedPass = "nginx, memcached_pass"
	nameNear          = "kasoku, near_ttl"
)

// The counterpart of nginx's "hash ... consistent" in Kasoku's configuration.
const (
	countPoints    = 160
	countNamespace = "testapp::"
	countServers   = 3
)

func memcachedScenarios() []scenario {
	return []scenario{
		{name: countHit, conns: 64, traffic: countHits("")},
		{name: countJSONP, conns: 64, traffic: countHits("cb_func_hoge")},
		killedScenario,
	}
}

// countHits returns requests for stored values, drawn at random, as JSONP calls if callback
// is not empty.
func countHits(callback string) func(int) (traffic, error) {
	return func(int) (traffic, error) {
		requests := prepare(dataset.Counts, func(k int) []byte { return dataset.AppendCountRequest(nil, k, callback) })
		t := hits(requests, 0)
		t.check = exactly(len(dataset.AppendCountAnswer(nil, 0, callback)))
		return t, nil
	}
}

// compareMemcached compares Kasoku with nginx in front of the same memcached servers. nginx
// wraps values with its echo module.
func (l *lab) compareMemcached() error {
	servers, err := l.startMemcacheds()
	if errors.Is(err, errNoMemcached) {
		l.report.note("servers in front of memcached are left out: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	var targets []target
	for _, c := range []struct {
		name  string
		start func(servers []*proc.Process) (*proc.Process, error)
	}{{nameMemcachedPass, l.startMemcachedPass}, {nameKasoku, l.startCounts("0s")}, {nameNear, l.startCounts("1h")}} {
		p, err := c.start(servers)
		if errors.Is(err, errNoPeer) {
			l.report.note("%s is left out: %v", c.name, err)
			continue
		}
		if err == nil {
			err = probeCounts(p.Addr)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		targets = append(targets, target{name: c.name, addr: p.Addr, proc: p})
	}
	for _, c := range chosen(memcachedScenarios(), "memcached", l.only) {
		run := l.contest
		if c.name == killedScenario.name {
			run = func(scenario, []target, *proc.Process) error { return l.measureKilled(servers) }
		}
		if err := run(c, targets, nil); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// probeCounts requests values from a server, with and without a callback.
func probeCounts(addr string) error {
	for _, callback := range []string{"", "cb_func_hoge"} {
		for k := range 30 {
			got, err := ask(addr, dataset.AppendCountRequest(nil, k, callback))
			if err != nil {
				return err
			}
			if want := dataset.AppendCountAnswer(nil, k, callback); !bytes.Equal(got, want) {
				return fmt.Errorf("the answer is %.100q instead of %q", got, want)
			}
		}
	}
	return nil
}

// errNoMemcached reports that memcached is not installed. The group is left out, which is
// not a failure.
var errNoMemcached = errors.New("memcached is not installed below .tools (scripts/setup-memcached.sh fetches it)")

// startMemcacheds starts servers and distributes the values over them.
func (l *lab) startMemcacheds() ([]*proc.Process, error) {
	servers := make([]*proc.Process, countServers)
	for i := range servers {
		addr, err := proc.FreeAddr()
		if err != nil {
			return nil, err
		}
		if servers[i], err = l.startMemcached(addr); err != nil {
			return nil, err
		}
	}
	for i := range servers {
		if err := fillCounts(servers, i); err != nil {
			return nil, err
		}
	}
	return servers, nil
}

func (l *lab) startMemcached(addr string) (*proc.Process, error) {
	program := filepath.Join(l.root, ".tools", "memcached", "bin", "memcached")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoMemcached
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	args := []string{program, "-l", host, "-p", port, "-U", "0", "-m", "64", "-c", "4096", "-t", "1"}
	if os.Geteuid() == 0 {
		args = append(args, "-u", "root") // required to run as root
	}
	return l.start(proc.Command{Name: "memcached-" + port, Addr: addr, Args: args})
}

// fillCounts stores the values of server i on it.
func fillCounts(servers []*proc.Process, i int) error {
	keys, err := countsOf(servers, i)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", servers[i].Addr, 5*time.Second)
	if err != nil {
		return fmt.Errorf("fill memcached: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	var commands []byte
	for _, k := range keys {
		value := dataset.AppendCount(nil, k)
		commands = fmt.Appendf(commands, "set %s%s 0 0 %d\r\n%s\r\n", countNamespace, dataset.AppendCountKey(nil, k), len(value), value)
	}
	if _, err := conn.Write(commands); err != nil {
		return fmt.Errorf("fill memcached: %w", err)
	}
	answers := bufio.NewReader(conn)
	for range keys {
		if line, err := answers.ReadString('\n'); err != nil || line != "STORED\r\n" {
			return fmt.Errorf("fill memcached: answer %q, %w", line, err)
		}
	}
	return nil
}

// countsOf returns the values that belong to server i.
func countsOf(servers []*proc.Process, i int) (keys []int, err error) {
	r, err := countRing(servers)
	if err != nil {
		return nil, err
	}
	for k := range dataset.Counts {
		if r.Find(dataset.AppendCountKey(nil, k)) == i {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

func countRing(servers []*proc.Process) (*ring.Ring, error) {
	c := ring.Config{Name: "cmf-ketama", Points: countPoints}
	for _, s := range servers {
		c.Servers = append(c.Servers, ring.Server{Label: s.Addr, Weight: 1})
	}
	return ring.New(c)
}

// startCounts returns a function that starts a Kasoku with a service of type memcached and
// defaults.
func (l *lab) startCounts(near string) func(servers []*proc.Process) (*proc.Process, error) {
	return func(servers []*proc.Process) (*proc.Process, error) {
		return l.startService("counts-"+near, func(listen, admin string) string { return countsText(listen, admin, servers, near, "") })
	}
}

func countsText(listen, admin string, servers []*proc.Process, near, fallback string) string {
	text := fmt.Sprintf("admin: {listen: %q}\ncache: {memory: 256MiB}\naccess_log: {to: none}\nservices:\n"+
		"  counts:\n    type: memcached\n    listen: %q\n    distribution: {name: cmf-ketama, points: %d}\n    namespace: %q\n    servers:\n",
		admin, listen, countPoints, countNamespace)
	for _, s := range servers {
		text += fmt.Sprintf("      - %q\n", s.Addr)
	}
	text += "    locations:\n"
	for _, jsonp := range []string{"", "        jsonp: {param: callback, types: [text/javascript], mode: legacy}\n"} {
		path := "/count"
		if jsonp != "" {
			path = "/jsonp"
		}
		text += "      - path: " + path + "\n" + `        key: "${arg.user_id}::${arg.entry_id}"
        content_type: text/javascript
        near_ttl: ` + near + "\n" + jsonp
		if fallback != "" {
			text += "        fallback: " + fallback + "\n"
		}
	}
	return text
}

// startMemcachedPass starts an nginx that reads the values over kept connections.
func (l *lab) startMemcachedPass(servers []*proc.Process) (*proc.Process, error) {
	modules, _ := filepath.Glob(filepath.Join(l.root, ".tools", "peers", "root", "usr", "lib", "nginx", "modules", "ngx_http_echo_module.so"))
	if len(modules) == 0 {
		return nil, errNoPeer
	}
	upstream := "upstream counts {\n\thash $arg_user_id::$arg_entry_id consistent;\n"
	for _, s := range servers {
		upstream += "\tserver " + s.Addr + ";\n"
	}
	upstream += "\tkeepalive 64;\n\tkeepalive_requests 1000000000;\n}\n"
	get := "default_type text/javascript;\n\tset $memcached_key " + countNamespace + "$arg_user_id::$arg_entry_id;\n\tmemcached_pass counts;\n"
	return l.runNginx("nginx-memcached", "load_module "+modules[0]+";\n", upstream,
		"location = /count {\n\t"+get+"}\nlocation = /jsonp {\n\techo_before_body -n \"${arg_callback}(\";\n\techo_after_body -n \");\";\n\t"+get+"}\n")
}

// judgeMemcached adds the goals of hits from memcached.
func (r *report) judgeMemcached(atMost func(name string, value, bound float64)) {
	if r.find(countJSONP, nameMemcachedPass) != nil {
		atMost("CPU of a memcached hit with JSONP, in nginx's", r.ratio(countJSONP, nameKasoku, cpu), 0.75)
		atMost("the same from the near cache", r.ratio(countJSONP, nameNear, cpu), 0.6)
	}
	for _, name := range []string{nameKasoku, nameNear} {
		if row := r.find(countJSONP, name); row != nil {
			atMost("MiB of "+name+" under hits from memcached", row.Columns[rss].Value/(1<<20), 64)
		}
	}
	atMost("p99 of hits while another memcached server is dead, in that before", r.ratio(killedScenario.name, nameOneKilled, p99), 1.25)
	atMost("seconds until the keys of a memcached server that returns are hits", r.back/1e9, 2)
}
