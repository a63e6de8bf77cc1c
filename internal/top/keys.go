package top

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// key handles a key outside of the prompt.
func (m *model) key(key string) tea.Cmd {
	s := &m.state
	s.problem = ""
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "p", "space":
		if s.paused = !s.paused; !s.paused {
			return m.pollAll()
		}
	case "r":
		return m.pollAll()
	case "e":
		s.prompt = s.newPrompt()
	case "?", "h":
		if s.page != helpPage {
			if s.page != explainPage {
				s.back = s.page
			}
			s.page, s.scroll = helpPage, 0
		}
	case "esc", "backspace", "left":
		m.goBack()
	default:
		if s.page == overviewPage {
			m.overviewKey(key)
		} else {
			s.scroll = max(0, s.scroll+steps(key, m.height-headLines-1))
		}
	}
	return nil
}

// goBack leaves a page, or the figures of a single node.
func (m *model) goBack() {
	s := &m.state
	s.scroll = 0
	switch s.page {
	case overviewPage:
		s.only = ""
		m.summarize()
	case detailPage:
		s.page = overviewPage
	case explainPage, helpPage:
		s.page = s.back
	}
}

// overviewKey handles a key that only the overview has.
func (m *model) overviewKey(key string) {
	s := &m.state
	switch key {
	case "tab":
		s.next()
	case "s":
		s.by, s.reverse = (s.by+1)%len(orders), false
		s.update(s.sum)
	case "S":
		s.reverse = !s.reverse
		s.update(s.sum)
	case "enter", "right":
		m.open()
	default:
		s.move(steps(key, m.height/3))
	}
}

// steps returns the number of lines that a key moves down on a page of n lines.
func steps(key string, n int) int {
	switch key {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup":
		return -n
	case "pgdown":
		return n
	case "home", "g":
		return -1 << 20
	case "end", "G":
		return 1 << 20
	}
	return 0
}

// open opens the selected row: the detail of a service or a table, or the figures of a single node.
func (m *model) open() {
	s := &m.state
	if s.selected.kind != memberRow {
		if s.table(s.selected) != nil || s.service(s.selected) != nil {
			s.detail, s.page, s.scroll, s.keys = s.selected, detailPage, 0, nil
		}
		return
	}
	i := slices.IndexFunc(s.sum.nodes, func(n nodeRow) bool { return n.name == s.selected.name })
	if i >= 0 && s.sum.nodes[i].answered {
		s.only = s.sum.nodes[i].address
		m.summarize()
	}
}

// edit handles a key of the prompt.
func (m *model) edit(key tea.KeyPressMsg) tea.Cmd {
	p := m.state.prompt
	switch key.String() {
	case "ctrl+c":
		return tea.Quit
	case "esc":
		m.state.prompt = nil
	case "enter":
		m.state.prompt = nil
		return m.explain(p)
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(p.text)
		p.text = p.text[:len(p.text)-n]
	case "ctrl+u":
		p.text = ""
	case "ctrl+w":
		p.text = p.text[:1+strings.LastIndexByte(strings.TrimRight(p.text, " "), ' ')]
	default:
		p.add(key.Text)
	}
	return nil
}

// maxLine is the maximum length of a line that is typed.
const maxLine = 4096

// add appends text. Control characters of pasted text are left out.
func (p *prompt) add(text string) {
	for _, r := range text {
		if shown(string(r)) == string(r) && len(p.text) < maxLine {
			p.text += string(r)
		}
	}
}

// explain explains a line, by the node that is shown alone or the first one that has answered.
func (m *model) explain(p *prompt) tea.Cmd {
	i := slices.IndexFunc(m.nodes, func(n *node) bool { return n.last != nil && (m.state.only == "" || m.state.only == n.address) })
	if i < 0 {
		m.state.problem = "no node answers"
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, pollTimeout)
		defer cancel()
		e, err := m.sources[i].Explain(ctx, p.service, strings.TrimSpace(p.text))
		if err != nil {
			return answered{err: err}
		}
		return answered{answer: &explained{p.service, strings.TrimSpace(p.text), e}}
	}
}
