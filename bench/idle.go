package main

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/bench/internal/proc"
)

const idleScenario = "GetItem hit beside idle"

// measureIdle compares a server without other connections with one that holds many idle
// connections, for Kasoku and then for the floor.
func (l *lab) measureIdle() error {
	progress("%s connections", idleScenario)
	origin, err := l.startOrigin()
	if err != nil {
		return err
	}
	var kasokus, floors []target
	for _, suffix := range []string{"", "-idle"} {
		k, err := l.startKasoku("kasoku"+suffix, "1GiB", origin, nil)
		if err != nil {
			return err
		}
		kasokus = append(kasokus, target{name: nameKasoku, addr: k.Addr, proc: k.Process})
		f, err := l.startFloor("floor" + suffix)
		if err != nil {
			return err
		}
		floors = append(floors, target{name: nameFloor, addr: f.Addr, proc: f})
	}
	if l.report.idle, err = l.compareIdle(kasokus); err != nil {
		return err
	}
	_, err = l.compareIdle(floors)
	return err
}

// compareIdle measures two servers of a kind while the second holds idle connections, and
// returns the memory of one idle connection.
func (l *lab) compareIdle(pair []target) (each float64, err error) {
	requests, err := getHits(l.plan.items)
	if err != nil {
		return 0, err
	}
	b := loadSpec{conns: 32, rounds: l.plan.rounds, round: l.plan.round}
	for i := range pair {
		pair[i].load = requests
		if err := l.warm(b, pair[i]); err != nil {
			return 0, err
		}
	}
	crowd, each, err := l.openIdle(pair[1].proc)
	defer hangUp(crowd)
	if err != nil {
		return 0, err
	}
	samples, err := l.interleave(b, pair)
	if err != nil {
		return 0, err
	}
	l.report.add(idleScenario, pair[0].name, pair[0].name, samples[0], samples[0], "")
	l.report.add(idleScenario, fmt.Sprintf("%s with %d", pair[1].name, len(crowd)), pair[0].name, samples[1], samples[0],
		fmt.Sprintf("%.1f KiB an idle connection", each/1024))
	return each, nil
}

// openIdle opens idle connections, each after one answer, and returns the resident memory that
// each adds to the server.
func (l *lab) openIdle(p *proc.Process) (crowd []net.Conn, each float64, err error) {
	before, err := p.RSS()
	if err != nil {
		return nil, 0, err
	}
	request := dataset.AppendRequest(nil, "GetItem", dataset.Even.AppendGet(nil, 0))
	buf := make([]byte, 16<<10)
	for range l.plan.idle {
		c, err := net.DialTimeout("tcp", p.Addr, 5*time.Second)
		if err != nil {
			return crowd, 0, fmt.Errorf("idle connection %d: %w", len(crowd), err)
		}
		crowd = append(crowd, c)
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Write(request); err != nil {
			return crowd, 0, fmt.Errorf("idle connection %d: %w", len(crowd), err)
		}
		if err := oneAnswer(c, buf); err != nil {
			return crowd, 0, fmt.Errorf("idle connection %d: %w", len(crowd), err)
		}
	}
	after, err := p.RSS()
	return crowd, float64(after-before) / float64(len(crowd)), err
}

// oneAnswer reads the answer to a GetItem of item 0.
func oneAnswer(c net.Conn, buf []byte) error {
	n := 0
	for n < 2 || buf[n-1] != '}' || n < dataset.Even.GetAnswerLen(0) {
		if n == len(buf) {
			return io.ErrShortBuffer
		}
		got, err := c.Read(buf[n:])
		if err != nil {
			return err
		}
		n += got
	}
	return nil
}

func hangUp(crowd []net.Conn) {
	for _, c := range crowd {
		c.Close()
	}
}
