package spool

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// position is a position in the order of all payloads: an offset in a segment.
type position struct {
	seq uint64
	off int64
}

const (
	slotMagic    = "fspp"
	slotLen      = 40
	progressSize = 2 * slotLen
)

// progress stores a position in two slots, which are written in turn: a torn write leaves
// the previous one.
type progress struct {
	f          file // nil until it could be created
	path       string
	generation uint64
	buf        [slotLen]byte
}

// load reads the newer slot. A file without a valid slot is no error: everything is then
// returned again.
func (p *progress) load(fs fsys) (position, error) {
	f, err := fs.Open(p.path)
	if err != nil {
		return position{}, err
	}
	p.f = f
	var newest position
	for slot := range int64(2) {
		n, err := f.ReadAt(p.buf[:], slot*slotLen)
		if n < slotLen {
			if err != nil && err != io.EOF {
				continue
			}
			break
		}
		generation, at, version, ok := p.decode()
		if !ok {
			continue
		}
		if version > formatVersion {
			f.Close()
			return position{}, &FormatError{Path: p.path, Found: version, Known: formatVersion}
		}
		if generation >= p.generation {
			p.generation, newest = generation, at
		}
	}
	return newest, nil
}

func (p *progress) decode() (generation uint64, at position, version uint32, ok bool) {
	b := p.buf[:]
	le := binary.LittleEndian
	if string(b[:4]) != slotMagic || le.Uint32(b[36:]) != crc32.Checksum(b[:36], castagnoli) {
		return 0, at, 0, false
	}
	at = position{seq: le.Uint64(b[16:]), off: int64(le.Uint64(b[24:]))}
	return le.Uint64(b[8:]), at, le.Uint32(b[4:]), at.seq <= maxSequence && at.off >= 0
}

// reserve allocates the disk space of both slots, so that progress can be stored when the
// disk is full. If it already is, store tries again.
func (p *progress) reserve(fs fsys) {
	if p.create(fs) != nil {
		return
	}
	var empty [progressSize]byte
	if size, err := p.f.Size(); err == nil && size < progressSize {
		_, _ = p.f.WriteAt(empty[size:], size)
	}
}

// create creates the file if it is missing.
func (p *progress) create(fs fsys) (err error) {
	if p.f == nil {
		p.f, err = fs.Create(p.path)
	}
	return err
}

// store writes the older slot.
func (p *progress) store(fs fsys, at position) error {
	if err := p.create(fs); err != nil {
		return err
	}
	generation := p.generation + 1
	le, b := binary.LittleEndian, p.buf[:]
	clear(b)
	copy(b, slotMagic)
	le.PutUint32(b[4:], formatVersion)
	le.PutUint64(b[8:], generation)
	le.PutUint64(b[16:], at.seq)
	le.PutUint64(b[24:], uint64(at.off))
	le.PutUint32(b[36:], crc32.Checksum(b[:36], castagnoli))
	if _, err := p.f.WriteAt(b, int64(generation%2)*slotLen); err != nil {
		return err
	}
	p.generation = generation
	return nil
}

func (p *progress) sync() error {
	if p.f == nil {
		return nil
	}
	return p.f.Sync()
}

func (p *progress) close() error {
	if p.f == nil {
		return nil
	}
	return p.f.Close()
}
