package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const (
	nameAlone  = "kasoku, alone"
	nameMember = "kasoku, one of three"

	clusterHit    = "GetItem hit, in a cluster"
	clusterPutOne = "PutItem on 1 connection, in a cluster"
	clusterPut    = "PutItem on 64 connections, in a cluster"
)

// clusterScenarios returns the scenarios for the cost of a cluster. All requests are sent to one
// of its nodes, and only that one's CPU is counted. compareCluster makes the targets.
func clusterScenarios() []scenario {
	return []scenario{
		{name: clusterHit, conns: 64, traffic: recordGets},
		{name: clusterPutOne, conns: 1, traffic: recordPuts},
		{name: clusterPut, conns: 64, traffic: recordPuts},
	}
}

// compareCluster measures a Kasoku alone, and one of three in a cluster, before the same store.
func (l *lab) compareCluster() error {
	store, _, err := l.startEmbedded("store")
	if err != nil {
		return err
	}
	progress("filling the store with %d records", l.plan.items)
	if err := l.load(store.Addr, dataset.CreateRecords(), l.plan.items, dataset.AppendRecordBatch); err != nil {
		return err
	}
	alone, _, err := l.startBefore("alone", "", store)
	if err != nil {
		return err
	}
	var routes []string
	for range 3 {
		addr, err := proc.FreeAddr()
		if err != nil {
			return err
		}
		routes = append(routes, addr)
	}
	var member *proc.Process
	for i, addr := range routes {
		name := fmt.Sprint("member-", i)
		p, admin, err := l.startBefore(name, fmt.Sprintf("cluster: {name: bench, node: %s, listen: %q, join: [%s]}\n",
			name, addr, quoted(routes)), store)
		if err != nil {
			return err
		}
		if err := l.awaitMembers(admin, i+1); err != nil {
			return err
		}
		member = p
	}
	targets := []target{{name: nameAlone, addr: alone.Addr, proc: alone}, {name: nameMember, addr: member.Addr, proc: member}}
	for _, c := range chosen(clusterScenarios(), "cluster", l.only) {
		if err := l.contest(c, targets, nil); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// quoted returns texts as elements of a list in YAML.
func quoted(texts []string) string { return `"` + strings.Join(texts, `", "`) + `"` }

// startBefore starts a Kasoku in front of a store and returns the address of its admin server.
// extra are further lines of its configuration.
func (l *lab) startBefore(name, extra string, store *proc.Process) (p *proc.Process, admin string, err error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, "", err
	}
	if admin, err = proc.FreeAddr(); err != nil {
		return nil, "", err
	}
	file := filepath.Join(l.dir, name+".yaml")
	text := append(configText(admin, "1GiB", []service{{name: "plain", listen: addr, origin: store.Addr, auth: authNone}}), extra...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, "", fmt.Errorf("configure %s: %w", name, err)
	}
	p, err = l.start(proc.Command{
		Name: name, Addr: addr, Also: []string{admin}, Args: []string{l.kasoku, "serve", "-c", file},
		Env: []string{"AWS_ACCESS_KEY_ID=" + dataset.AccessKey, "AWS_SECRET_ACCESS_KEY=" + dataset.SecretKey, "AWS_EC2_METADATA_DISABLED=true"},
	})
	return p, admin, err
}

// awaitMembers waits until a node serves and has so many members.
func (l *lab) awaitMembers(admin string, members int) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, err := get(admin, "/api/v1/cluster")
		_, notReady := get(admin, "/readyz")
		if err == nil && notReady == nil && strings.Count(string(status), `"instance"`) == members+1 {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the cluster has not %d members: %s", members, status), err, notReady)
		}
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// judgeCluster adds the goals of clusters.
func (r *report) judgeCluster(atMost, atLeast func(name string, value, bound float64)) {
	atMost("CPU of a GetItem hit in a cluster, in hits without one", r.ratio(clusterHit, nameMember, cpu), 1.01)
	if alone, member := r.find(clusterPutOne, nameAlone), r.find(clusterPutOne, nameMember); alone != nil && member != nil {
		atMost("ms that a cluster of three adds to the p50 of PutItem", (member.Columns[p50].Value-alone.Columns[p50].Value)/1e6, 1)
	}
	atLeast("throughput of PutItem in a cluster of three, in Kasokus alone", r.ratio(clusterPut, nameMember, throughput), 0.7)
}
