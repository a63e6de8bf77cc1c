package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kasoku/kasoku/internal/pause"
)

// framesPerSecond is the maximum number of changes of the screen per second, so that a slow line is
// not filled by keys that repeat.
const framesPerSecond = 20

// Run shows the screens on a terminal until the user quits or ctx ends.
func Run(ctx context.Context, sources []Source, interval time.Duration, in io.Reader, out io.Writer, color bool) error {
	profile := colorprofile.ANSI
	if !color {
		profile = colorprofile.ASCII
	}
	_, err := tea.NewProgram(newModel(ctx, sources, interval), tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithoutSignalHandler(), tea.WithColorProfile(profile), tea.WithFPS(framesPerSecond)).Run()
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		return nil
	}
	return err
}

// Print writes the overview as plain text with all its rows, in w columns, at the end of each
// interval: as many times as given, or until ctx ends if that is 0. It returns an error if no node
// has answered.
func Print(ctx context.Context, sources []Source, interval time.Duration, out io.Writer, w, times int) error {
	m := newModel(ctx, sources, interval)
	m.state.plain, m.state.selected = true, row{kind: -1}
	m.takeAll()
	for n := 1; times == 0 || n <= times; n++ {
		if pause.For(ctx, interval); ctx.Err() != nil {
			return nil
		}
		m.takeAll()
		sum := summarize(m.nodes, "")
		if sum.answered == 0 {
			return m.unanswered()
		}
		m.state.sum = sum
		sortTables(sum.tables, m.state.by, false)
		if _, err := io.WriteString(out, plain(&m.state, max(w, minWidth))); err != nil {
			return err
		}
		if times != n {
			fmt.Fprintln(out)
		}
	}
	return nil
}

// takeAll polls all sources at the same time.
func (m *model) takeAll() {
	var all sync.WaitGroup
	for i := range m.sources {
		all.Go(func() {
			msg := m.poll(i)().(reported)
			m.nodes[i].take(msg.report, msg.err)
		})
	}
	all.Wait()
}

// unanswered returns the errors of all nodes.
func (m *model) unanswered() error {
	var all []error
	for _, n := range m.nodes {
		all = append(all, fmt.Errorf("%s: %w", n.address, n.err))
	}
	return errors.Join(all...)
}

// plain returns the overview without escape sequences and with all rows.
func plain(s *state, w int) string {
	lines := head(s, w)
	lines = append(lines, overview(s, w, 1<<20)...)
	var b strings.Builder
	for i, line := range lines {
		line = strings.TrimRight(ansi.Strip(line), " ")
		if line == "" && i > 0 && i < headLines {
			continue
		}
		if i == headLines {
			b.WriteByte('\n')
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
