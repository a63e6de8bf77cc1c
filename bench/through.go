package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	passGet       = "uncacheable GET of 1.5 KB"
	passPost      = "POST of 1 KB"
	passLarge     = "uncacheable GET of 1 MB"
	passUpload    = "POST of 1 MB"
	nameHAProxy   = "HAProxy"
	nameNginxPass = "nginx, proxy_pass"
)

func throughScenarios() []scenario {
	return []scenario{
		{name: passGet, conns: 64, traffic: passes(dataset.SmallObject, 0)},
		{name: passPost, conns: 64, traffic: passes(dataset.SmallObject, 1<<10)},
		{name: passLarge, conns: 16, traffic: passes(dataset.HugeObject, 0)},
		{name: passUpload, conns: 16, traffic: passes(dataset.SmallObject, 1<<20)},
	}
}

// passes returns traffic whose answers have answer bytes, and whose requests have sent bytes.
func passes(answer, sent int) func(int) (traffic, error) {
	return func(int) (traffic, error) {
		var body []byte
		if sent > 0 {
			body = bytes.Repeat([]byte("x"), sent)
		}
		request := dataset.AppendPassRequest(nil, answer, body)
		check := ofLength(answer)
		if answer == dataset.SmallObject {
			check = exactly(answer) // a part of an object
		}
		return traffic{next: func(int, []byte) []byte { return request }, check: check}, nil
	}
}

// compareThrough compares services of type http with other proxies where every request has to
// reach the origin. All have kept connections on both sides.
func (l *lab) compareThrough() error {
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	var targets []target
	for _, c := range []struct {
		name  string
		start func(origin string) (*proc.Process, error)
	}{{nameNginxPass, l.startProxy}, {nameHAProxy, l.startHAProxy}, {nameVarnish, l.startVarnish}, {nameKasoku, l.startSite}} {
		p, err := c.start(origin.Addr)
		if errors.Is(err, errNoPeer) {
			l.report.note("%s is left out: %v", c.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		got, err := ask(p.Addr, dataset.AppendPassRequest(nil, dataset.SmallObject, nil))
		if err != nil || len(got) != dataset.SmallObject {
			return fmt.Errorf("%s: %d bytes instead of %d, %w", c.name, len(got), dataset.SmallObject, err)
		}
		targets = append(targets, target{name: c.name, addr: p.Addr, proc: p})
	}
	for _, c := range chosen(throughScenarios(), "through", l.only) {
		if err := l.contest(c, targets, origin); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// startProxy starts nginx without a cache.
func (l *lab) startProxy(origin string) (*proc.Process, error) {
	return l.runNginx("proxy", "", "upstream origin { server "+origin+"; keepalive 128; keepalive_requests 1000000000; }\nclient_max_body_size 8m;\n",
		`location / {
	proxy_pass http://origin;
	proxy_http_version 1.1;
	proxy_set_header Host $host;
	proxy_set_header Connection "";
}
`)
}

// startHAProxy starts HAProxy with two threads.
func (l *lab) startHAProxy(origin string) (*proc.Process, error) {
	program, env, err := l.peer("haproxy")
	if err != nil {
		return nil, err
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	file, err := l.write("haproxy.cfg", `global
	nbthread 2
	maxconn 4096
defaults
	mode http
	timeout connect 5s
	timeout client 600s
	timeout server 600s
	http-reuse always
frontend front
	bind `+addr+`
	default_backend back
backend back
	server origin `+origin+"\n")
	if err != nil {
		return nil, err
	}
	return l.start(proc.Command{Name: "haproxy", Addr: addr, Env: env, Args: []string{program, "-db", "-f", file}})
}

// judgeThrough adds the goals of requests that reach the origin.
func (r *report) judgeThrough(atMost, atLeast func(name string, value, bound float64)) {
	for _, c := range []struct {
		scenario string
		cpu      float64
	}{{passGet, 1.2}, {passPost, 1.2}, {passLarge, 1}, {passUpload, 1}} {
		atMost("CPU: "+c.scenario+", in nginx's", r.ratio(c.scenario, nameKasoku, cpu), c.cpu)
		atLeast("throughput: "+c.scenario+", in nginx's", r.ratio(c.scenario, nameKasoku, throughput), 0.9)
	}
}
