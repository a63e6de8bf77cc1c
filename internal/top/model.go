package top

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kasoku/kasoku/internal/admin"
)

// pollTimeout is the time after which a node that does not answer is shown as such.
const pollTimeout = 3 * time.Second

// model is the program on the terminal. Each source is polled for itself, so that one that does not
// answer delays no other.
type model struct {
	ctx           context.Context
	sources       []Source
	nodes         []*node // of the sources
	polls         []poll  // of the sources
	state         state
	width, height int
}

// poll is the progress of polling a source.
type poll struct {
	running bool
	turn    int // number of polls that were begun
}

// Messages of commands.
type (
	reported struct {
		source int
		report *admin.ReportJSON
		err    error
		keys   *admin.TableKeys // of the row keysOf; nil if there are none
		keysOf row
	}
	due struct { // the next poll, after the given turn
		source, turn int
	}
	answered struct {
		answer *explained
		err    error
	}
)

func newModel(ctx context.Context, sources []Source, interval time.Duration) *model {
	m := &model{ctx: ctx, sources: sources, polls: make([]poll, len(sources)), width: 80, height: 24}
	for _, s := range sources {
		m.nodes = append(m.nodes, &node{address: s.Address()})
	}
	m.state.interval = interval
	m.summarize()
	return m
}

// summarize updates what is on the screen.
func (m *model) summarize() {
	m.state.update(summarize(m.nodes, m.state.only))
	m.state.keys = keysOf(m.nodes, m.state.only, m.state.detail)
}

// Init is called by Bubble Tea at the start.
func (m *model) Init() tea.Cmd { return m.pollAll() }

// pollAll begins a poll of each source that is not being polled.
func (m *model) pollAll() tea.Cmd {
	var all []tea.Cmd
	for i := range m.sources {
		if !m.polls[i].running {
			all = append(all, m.poll(i))
		}
	}
	return tea.Batch(all...)
}

func (m *model) poll(i int) tea.Cmd {
	m.polls[i].running = true
	m.polls[i].turn++
	keyed, wanted := m.state.keyedRow()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, pollTimeout)
		defer cancel()
		j, err := m.sources[i].Report(ctx)
		msg := reported{source: i, report: j, err: err, keysOf: keyed}
		if err == nil && wanted {
			// Without an answer the figures of the report are shown alone, for example those of a
			// node whose version has no keys.
			msg.keys, _ = m.sources[i].Keys(ctx, keyed.service, keyed.name)
		}
		return msg
	}
}

// Update is called by Bubble Tea with each message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case reported:
		m.nodes[msg.source].take(msg.report, msg.err)
		m.nodes[msg.source].keys, m.nodes[msg.source].keysOf = msg.keys, msg.keysOf
		m.polls[msg.source].running = false
		m.summarize()
		next := due{msg.source, m.polls[msg.source].turn}
		return m, tea.Tick(m.state.interval, func(time.Time) tea.Msg { return next })
	case due:
		if p := m.polls[msg.source]; !m.state.paused && !p.running && p.turn == msg.turn {
			return m, m.poll(msg.source)
		}
	case answered:
		m.state.problem = ""
		if msg.err != nil {
			m.state.problem = msg.err.Error()
			break
		}
		if m.state.page != explainPage {
			m.state.back = m.state.page
		}
		m.state.answer, m.state.page, m.state.scroll = msg.answer, explainPage, 0
	case tea.PasteMsg:
		if m.state.prompt != nil {
			m.state.prompt.add(msg.Content)
		}
	case tea.KeyPressMsg:
		if m.state.prompt != nil {
			return m, m.edit(msg)
		}
		return m, m.key(msg.String())
	}
	return m, nil
}

// View is called by Bubble Tea after messages.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(screen(&m.state, m.width, m.height), "\n"))
	v.AltScreen = true
	if m.state.prompt != nil {
		v.Cursor = tea.NewCursor(min(width(m.state.prompt.line(m.width)), m.width-1), m.height-1)
	}
	return v
}
