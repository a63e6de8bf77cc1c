//go:build kasokutrace

package cluster

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// processTrace logs the steps of a process into a file of the folder that the environment
// variable KASOKU_TRACE names. protocol.Merge makes a trace of the files of all processes.
type processTrace struct {
	mu      sync.Mutex
	file    *os.File // nil for none
	process string
	id      uint64 // of the newest read or write of the view
}

// start begins the log. The caller holds the node's mu.
func (t *processTrace) start(n *Node, self *protocol.Member, fresh bool) {
	dir := os.Getenv("KASOKU_TRACE")
	if dir == "" {
		return
	}
	t.process = fmt.Sprintf("%s.%d", self.Node, os.Getpid())
	var err error
	if t.file, err = os.Create(filepath.Join(dir, t.process+".log")); err != nil {
		n.log.Error("the steps of the protocol can't be logged", slog.Any("error", err))
		return
	}
	n.machine.Trace(func(s protocol.Step) { t.log(protocol.LogLine{Kind: protocol.LogStep, Step: &s}) })
	cfg := n.cfg.Delays.WithDefaults()
	t.log(protocol.LogLine{Kind: protocol.LogStart, Config: &cfg, Fresh: fresh})
}

// log writes a line at once, since the process may be killed.
func (t *processTrace) log(l protocol.LogLine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return
	}
	l.Time, l.Process = time.Now().UnixNano(), t.process
	text, err := json.Marshal(&l)
	if err == nil {
		_, err = t.file.Write(append(text, '\n'))
	}
	if err != nil {
		panic(err) // the trace would lack a step
	}
}

// next returns the number of a read or a write of the view.
func (t *processTrace) next() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.id++
	return t.id
}

func (t *processTrace) joins(i protocol.Instance) {
	t.log(protocol.LogLine{Kind: protocol.LogJoins, By: i})
}

func (t *processTrace) asks() (id uint64) {
	id = t.next()
	t.log(protocol.LogLine{Kind: protocol.LogAsks, ID: id})
	return id
}

func (t *processTrace) reads(id uint64, v *protocol.View, err error) {
	t.log(protocol.LogLine{Kind: protocol.LogReads, ID: id, View: v, Done: err == nil})
}

func (t *processTrace) writes(by protocol.Instance, v *protocol.View) (id uint64) {
	id = t.next()
	t.log(protocol.LogLine{Kind: protocol.LogWrites, ID: id, By: by, View: v})
	return id
}

func (t *processTrace) wrote(id uint64, err error) {
	t.log(protocol.LogLine{Kind: protocol.LogWrote, ID: id, Done: err == nil})
}

// trace logs that a write is sent. It returns true.
func (r *round) trace() bool {
	r.node.do(func(protocol.Time) { r.node.machine.TraceSend(r.seq) })
	return true
}
