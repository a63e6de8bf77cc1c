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

// What nginx's "hash ... consistent" is in Kasoku, which its own data is read with.
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

// countHits asks for values that are there, drawn at random, with a callback if that has
// a name.
func countHits(callback string) func(int) (traffic, error) {
	return func(int) (traffic, error) {
		requests := prepare(dataset.Counts, func(k int) []byte { return dataset.AppendCountRequest(nil, k, callback) })
		t := hits(requests, 0)
		t.check = exactly(len(dataset.AppendCountAnswer(nil, 0, callback)))
		return t, nil
	}
}

// compareMemcached compares Kasoku with nginx before the same memcached servers. nginx
// wraps values by its echo module.
func (l *lab) compareMemcached() error {
	servers, err := l.startMemcacheds()
	if errors.Is(err, errNoMemcached) {
		l.report.note("what stands before memcached is left out: %v", err)
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
			run = func(scenario, []target, *proc.Process) error { return l.killOne(servers) }
		}
		if err := run(c, targets, nil); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// probeCounts asks a server for values, with and without a callback.
func probeCounts(addr string) error {
	for _, callback := range []string{"", "cb_func_hoge"} {
		for k := range 30 {
			got, err := ask(addr, dataset.AppendCountRequest(nil, k, callback))
			if err != nil {
				return err
			}
			if want := dataset.AppendCountAnswer(nil, k, callback); !bytes.Equal(got, want) {
				return fmt.Errorf("it answers %.100q instead of %q", got, want)
			}
		}
	}
	return nil
}

// errNoMemcached says that there is nothing to stand before, which is no failure.
var errNoMemcached = errors.New("memcached is not installed below .tools (scripts/setup-memcached.sh fetches it)")

// startMemcacheds starts servers and spreads the values over them.
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
		args = append(args, "-u", "root") // which it wants to be told
	}
	return l.start(proc.Command{Name: "memcached-" + port, Addr: addr, Args: args})
}

// fillCounts stores the values on server i that belong there.
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
			return fmt.Errorf("fill memcached: it answers %q, %w", line, err)
		}
	}
	return nil
}

// countsOf returns which values belong on server i.
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

// startCounts starts a Kasoku with a service of type memcached, otherwise as it is by
// default.
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

// judgeMemcached fills in the goals of hits from memcached.
func (r *report) judgeMemcached(most func(name string, value, bound float64)) {
	if r.find(countJSONP, nameMemcachedPass) != nil {
		most("CPU of a memcached hit with JSONP, in nginx's", r.ratio(countJSONP, nameKasoku, cpu), 0.75)
		most("the same from the near cache", r.ratio(countJSONP, nameNear, cpu), 0.6)
	}
	for _, name := range []string{nameKasoku, nameNear} {
		if row := r.find(countJSONP, name); row != nil {
			most("MiB of "+name+" under hits from memcached", row.Columns[rss].Value/(1<<20), 64)
		}
	}
	most("p99 of hits while another memcached server is dead, in that before", r.ratio(killedScenario.name, nameOneKilled, p99), 1.25)
	most("seconds until the keys of a memcached server that returns are hits", r.back/1e9, 2)
}
