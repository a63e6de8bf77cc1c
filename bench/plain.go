package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	plainHit   = "GetItemJSON hit"
	nameTyped  = "kasoku, GetItem"
	nameProxy  = "sign and forward"
	nameStored = "sign and forward to DynamoDB Local"
)

// plainStage holds the servers for comparing bbpd's routes.
type plainStage struct {
	origin *proc.Process // Kasoku's, which counts its requests
	kasoku *proc.Process
	floor  *proc.Process
	proxy  *proc.Process // with an origin of its own at next to no cost
	stored *proc.Process // in front of DynamoDB Local; may be nil
}

func plainScenarios() []scenario {
	return []scenario{{name: plainHit, conns: 100, traffic: plainHits, cached: true}}
}

// comparePlain compares hits through bbpd's routes with the same hits in DynamoDB's own
// protocol, and with a proxy that works like bbpd.
func (l *lab) comparePlain() error {
	s, err := l.setPlainStage()
	if err != nil {
		return err
	}
	typed, err := getHits(l.plan.items)
	if err != nil {
		return err
	}
	for _, c := range chosen(plainScenarios(), "plain", l.only) {
		targets := []target{
			{name: nameTyped, addr: s.kasoku.Addr, proc: s.kasoku, load: typed},
			{name: nameKasoku, addr: s.kasoku.Addr, proc: s.kasoku},
			{name: nameFloor, addr: s.floor.Addr, proc: s.floor},
			{name: nameProxy, addr: s.proxy.Addr, proc: s.proxy},
		}
		if s.stored != nil {
			targets = append(targets, target{name: nameStored, addr: s.stored.Addr, proc: s.stored})
		}
		if err := l.contest(c, targets, s.origin); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (l *lab) setPlainStage() (*plainStage, error) {
	var s plainStage
	var err error
	if s.origin, err = l.startOrigin(); err != nil {
		return nil, err
	}
	if s.kasoku, err = l.startRoutes(s.origin); err != nil {
		return nil, err
	}
	if s.floor, err = l.startFloor("floor"); err != nil {
		return nil, err
	}
	behind, err := l.startOrigin()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(l.dir, "proxy")
	if err := l.compile(program, "./bench/proxy"); err != nil {
		return nil, err
	}
	if s.proxy, err = l.start(proc.Command{Name: "proxy", Args: []string{program, "-origin", behind.Addr}}); err != nil {
		return nil, err
	}
	probed := []string{s.kasoku.Addr, s.proxy.Addr}
	dynamo, err := l.startDynamo()
	if errors.Is(err, errNoDynamo) {
		l.report.note("no proxy in front of %s: %v", nameDynamo, err)
	} else if err != nil {
		return nil, err
	} else if s.stored, err = l.start(proc.Command{Name: "stored", Args: []string{program, "-origin", dynamo.Addr}}); err != nil {
		return nil, err
	} else {
		probed = append(probed, s.stored.Addr)
	}
	var failed error
	for _, addr := range probed {
		for _, i := range []int{0, l.plan.items - 1} {
			failed = errors.Join(failed, probePlain(addr, i))
		}
	}
	return &s, failed
}

// probePlain requests an item from a server and compares the answer.
func probePlain(addr string, i int) error {
	set := dataset.Even
	got, err := ask(addr, dataset.AppendPlainRequest(nil, "/GetItemJSON", set.AppendGet(nil, i)))
	if err != nil {
		return err
	}
	if want := set.AppendPlain(nil, i); !sameJSON(got, want) {
		return fmt.Errorf("GetItemJSON at %s answers %.400s instead of %.400s", addr, got, want)
	}
	return nil
}

// startRoutes starts a Kasoku with bbpd's routes.
func (l *lab) startRoutes(origin *proc.Process) (*proc.Process, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	admin, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	text := append(configText(admin, "1GiB", []service{{name: "routes", listen: addr, origin: origin.Addr, auth: authNone}}), "    plain_json: true\n"...)
	file := filepath.Join(l.dir, "routes.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("configure routes: %w", err)
	}
	return l.start(proc.Command{
		Name: "routes", Addr: addr, Also: []string{admin},
		Args: []string{l.kasoku, "serve", "-c", file},
		Env: []string{
			"AWS_ACCESS_KEY_ID=" + dataset.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dataset.SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		},
	})
}

func plainHits(items int) (traffic, error) {
	set := dataset.Even
	return hits(prepare(items, func(i int) []byte {
		return dataset.AppendPlainRequest(nil, "/GetItemJSON", set.AppendGet(nil, i))
	}), len(set.AppendPlain(nil, 0))), nil
}

// judgePlain adds the goals of bbpd's routes.
func (r *report) judgePlain() {
	routes := r.find(plainHit, nameKasoku)
	if routes == nil {
		return
	}
	cost, bound := routes.Columns[cpu].Ratio, 1.3
	r.Goals = append(r.Goals, goal{Name: "CPU of a GetItemJSON hit, in GetItem hits", Value: cost, Bound: bound, Pass: cost <= bound})
	for _, peer := range []struct{ target, name string }{
		{nameProxy, "a proxy that signs and forwards"},
		{nameStored, "such a proxy before DynamoDB Local"},
	} {
		if proxy := r.ratio(plainHit, peer.target, throughput); proxy > 0 {
			times, least := routes.Columns[throughput].Ratio/proxy, 10.0
			r.Goals = append(r.Goals, goal{
				Name: "throughput of GetItemJSON hits, in those of " + peer.name, Value: times, Bound: least, Least: true, Pass: times >= least,
			})
		}
	}
}
