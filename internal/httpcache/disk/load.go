package disk

import (
	"cmp"
	"io"
	"slices"
)

// load reads the part's directory and removes inconsistent files.
func (p *Part) load() ([]Found, error) {
	t := p.tier
	if err := t.fs.MkdirAll(p.dir); err != nil {
		return nil, err
	}
	entries, err := t.fs.Names(p.dir)
	if err != nil {
		return nil, err
	}
	files := map[name][]string{}
	for _, e := range entries {
		if n, ending, ours := parseName(e); ours {
			files[n] = append(files[n], ending)
		}
	}
	var found []Found
	for n, endings := range files {
		f, ok := p.adopt(n)
		if ok {
			found = append(found, f)
		}
		for _, e := range endings {
			if !ok || e == tempEnding {
				p.remove(n, e)
			}
		}
		if !ok {
			t.counts.refused.Add(1)
		}
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.File.made, b.File.made), cmp.Compare(a.File.name, b.File.name))
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range found {
		t.used += f.File.size
		t.queue.add(f.File)
	}
	return found, nil
}

// adopt reads the head of a body and checks the body's length.
func (p *Part) adopt(n name) (Found, bool) {
	b, err := p.readHead(n)
	if err != nil {
		return Found{}, false
	}
	h, err := decodeHead(b)
	if err != nil || h.name != n {
		return Found{}, false
	}
	body, err := p.tier.fs.Open(p.path(n, bodyEnding))
	if err != nil {
		return Found{}, false
	}
	defer body.Close()
	size := h.length + trailerSize(h.length)
	if got, err := body.Size(); err != nil || got != size {
		return Found{}, false
	}
	f := &File{part: p, name: n, key: h.key, length: h.length, made: h.made, head: pages(int64(len(b)))}
	f.size = pages(size) + f.head
	return Found{File: f, Meta: h.meta, Stale: h.stale}, true
}

func (p *Part) readHead(n name) ([]byte, error) {
	f, err := p.tier.fs.Open(p.path(n, headEnding))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size > maxHead {
		return nil, errHead
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	return b, nil
}
