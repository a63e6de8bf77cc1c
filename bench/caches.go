package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	smallHit    = "hit of 1.5 KB over HTTP"
	largeHit    = "hit of 196 KB over HTTP"
	nameVarnish = "Varnish"
	nameNginx   = "nginx, proxy_cache"
)

// Numbers of objects, which are requested at random.
const (
	smallObjects = 2000
	largeObjects = 50
)

func cacheScenarios() []scenario {
	return []scenario{
		{name: smallHit, conns: 64, traffic: objectHits(dataset.SmallObject, smallObjects), cached: true},
		{name: largeHit, conns: 64, traffic: objectHits(dataset.LargeObject, largeObjects), cached: true},
	}
}

func objectHits(size, objects int) func(int) (traffic, error) {
	return func(int) (traffic, error) {
		return hits(prepare(objects, func(k int) []byte {
			return dataset.AppendObjectRequest(nil, size, k)
		}), size), nil
	}
}

// compareCaches compares services of type http with other caching reverse proxies in front
// of the same origin.
func (l *lab) compareCaches() error {
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	floor, err := l.startFloor("floor")
	if err != nil {
		return err
	}
	targets := []target{{name: nameFloor, addr: floor.Addr, proc: floor}}
	for _, c := range []struct {
		name  string
		start func(origin string) (*proc.Process, error)
	}{{nameKasoku, l.startSite}, {nameVarnish, l.startVarnish}, {nameNginx, l.startNginx}} {
		p, err := c.start(origin.Addr)
		if errors.Is(err, errNoPeer) {
			l.report.note("%s is left out: %v", c.name, err)
			continue
		}
		if err == nil {
			err = probeObjects(p.Addr)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		targets = append(targets, target{name: c.name, addr: p.Addr, proc: p})
	}
	for _, c := range chosen(cacheScenarios(), "http", l.only) {
		if err := l.contest(c, targets, origin); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// probeObjects requests objects from a server, twice because the second answer is served
// from its cache, and compares the answers with the expected bodies.
func probeObjects(addr string) error {
	for _, size := range []int{dataset.SmallObject, dataset.LargeObject} {
		for range 2 {
			got, err := ask(addr, dataset.AppendObjectRequest(nil, size, 7))
			if err != nil {
				return err
			}
			if !bytes.Equal(got, dataset.AppendObject(nil, size, 7)) {
				return fmt.Errorf("not the requested object, %d bytes: %.100q", len(got), got)
			}
		}
	}
	return nil
}

// startSite starts a Kasoku with a service of type http.
func (l *lab) startSite(origin string) (*proc.Process, error) {
	return l.startService("site", func(listen, admin string) string { return siteText(listen, admin, origin) })
}

// startService starts a Kasoku with the configuration that text returns for two addresses.
func (l *lab) startService(name string, text func(listen, admin string) string) (*proc.Process, error) {
	var addrs [2]string
	for i := range addrs {
		var err error
		if addrs[i], err = proc.FreeAddr(); err != nil {
			return nil, err
		}
	}
	file, err := l.write(name+".yaml", text(addrs[0], addrs[1]))
	if err != nil {
		return nil, err
	}
	return l.start(proc.Command{Name: name, Addr: addrs[0], Also: addrs[1:], Args: []string{l.kasoku, "serve", "-c", file}})
}

// siteText returns a kasoku.yaml with a service of type http and defaults.
func siteText(listen, admin, origin string) string {
	return fmt.Sprintf("admin: {listen: %q}\ncache: {memory: 256MiB}\naccess_log: {to: none}\nservices:\n"+
		"  site:\n    type: http\n    listen: %q\n    origins: [%q]\n", admin, listen, "http://"+origin)
}

// errNoPeer reports that a peer is not installed. It is left out, which is not a failure.
var errNoPeer = errors.New("it is not installed below .tools (scripts/setup-peers.sh fetches it, on Debian)")

// peer returns the path of a program below .tools/peers and the environment variables that
// it needs.
func (l *lab) peer(program string) (path string, env []string, err error) {
	root := filepath.Join(l.root, ".tools", "peers", "root")
	path = filepath.Join(root, "usr", "sbin", program)
	if _, err := os.Stat(path); err != nil {
		return "", nil, errNoPeer
	}
	folders, _ := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu"))
	list := ""
	for _, folder := range folders {
		list += folder + ":" + filepath.Join(folder, "varnish") + ":"
	}
	return path, []string{"LD_LIBRARY_PATH=" + list}, nil
}

// startVarnish starts Varnish in front of one origin.
func (l *lab) startVarnish(origin string) (*proc.Process, error) {
	host, port, err := net.SplitHostPort(origin)
	if err != nil {
		return nil, err
	}
	return l.runVarnish("site", fmt.Sprintf("vcl 4.1;\nbackend default { .host = %q; .port = %q; }\n", host, port))
}

// runVarnish starts Varnish with its own defaults: two thread pools, and as much memory as
// Debian's service gives it. Only the idle timeout of clients is longer.
func (l *lab) runVarnish(name, vcl string) (*proc.Process, error) {
	program, env, err := l.peer("varnishd")
	if err != nil {
		return nil, err
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	file, err := l.write(name+".vcl", vcl)
	if err != nil {
		return nil, err
	}
	args := []string{program, "-F", "-j", "none", "-n", filepath.Join(l.dir, "varnish-"+name), "-a", addr, "-T", "none", "-f", file,
		"-s", "malloc,256m", "-p", "timeout_idle=600"}
	root := filepath.Join(l.root, ".tools", "peers", "root")
	if modules, _ := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu", "varnish", "vmods")); len(modules) > 0 {
		args = append(args, "-p", "vmod_path="+modules[0])
	}
	return l.start(proc.Command{Name: "varnish-" + name, Addr: addr, Env: env, Args: args})
}

// startNginx starts nginx with a cache on disk, in practice in the system's page cache.
func (l *lab) startNginx(origin string) (*proc.Process, error) {
	return l.runNginx("nginx", "",
		"proxy_cache_path cache levels=1:2 keys_zone=site:10m max_size=1g inactive=1d use_temp_path=off;\n",
		`location / {
	proxy_pass http://`+origin+`;
	proxy_http_version 1.1;
	proxy_set_header Host $host;
	proxy_set_header Connection "";
	proxy_cache site;
	add_header X-Cache-Status $upstream_cache_status;
}
`)
}

// runNginx starts nginx with additional text for the main, http and server sections. It has
// sendfile on as in Debian, two workers, and connections that are not closed after a
// thousand requests.
func (l *lab) runNginx(name, top, http, server string) (*proc.Process, error) {
	program, env, err := l.peer("nginx")
	if err != nil {
		return nil, err
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(l.dir, name)
	if err := os.Mkdir(home, 0o755); err != nil {
		return nil, fmt.Errorf("folder of nginx: %w", err)
	}
	file, err := l.write(name+".conf", nginxText(addr, top, http, server))
	if err != nil {
		return nil, err
	}
	return l.start(proc.Command{Name: name, Addr: addr, Env: env, Args: []string{
		program, "-p", home, "-c", file, "-e", filepath.Join(home, "error.log"), "-g", "daemon off;"}})
}

// nginxText returns a configuration whose relative paths are below nginx's own folder.
func nginxText(listen, top, http, server string) string {
	if os.Geteuid() == 0 {
		top = "user root;\n" + top // only root can read the scratch folder
	}
	return top + `worker_processes 2;
pid pid;
events { worker_connections 4096; }
http {
access_log off;
sendfile on;
tcp_nopush on;
keepalive_timeout 600;
keepalive_requests 1000000000;
client_body_temp_path client;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
` + http + `server {
listen ` + listen + `;
` + server + `}
}
`
}

// write writes a file to the scratch folder.
func (l *lab) write(name, text string) (path string, err error) {
	path = filepath.Join(l.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("configure: %w", err)
	}
	return path, nil
}

// judgeCaches adds the goals of hits over HTTP.
func (r *report) judgeCaches(atMost func(name string, value, bound float64)) {
	against := func(scenario, peer string) float64 {
		if other := r.ratio(scenario, peer, cpu); other > 0 {
			return r.ratio(scenario, nameKasoku, cpu) / other
		}
		return 0
	}
	atMost("CPU of a hit of 1.5 KB over HTTP, in Varnish's", against(smallHit, nameVarnish), 0.55)
	atMost("CPU of a hit of 1.5 KB over HTTP, in nginx's", against(smallHit, nameNginx), 1.1)
	atMost("CPU of a hit of 196 KB over HTTP, in nginx's", against(largeHit, nameNginx), 1)
}
