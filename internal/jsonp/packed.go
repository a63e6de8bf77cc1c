package jsonp

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/flate"
)

// Packed is a body compressed once for all calls: raw deflate that ends at a byte boundary
// and is not final. The head and the tail of a call surround it in stored blocks, so that
// the name, which the client chooses, changes the length only by its own length. The whole
// is one member of gzip (RFC 1951, section 3.2.4; RFC 1952). It is immutable.
type Packed struct {
	middle []byte
	crc    uint32 // of the bytes that middle holds
	shift  uint32 // by length
	length int64
	empty  bool // it has only white space
}

// packLevel is the level for stored bodies, which are compressed once.
const packLevel = 6

// Packer makes Packed bodies, one after the other. It belongs to one goroutine.
type Packer struct {
	clean   cleaner
	deflate *flate.Writer
	out     bytes.Buffer
	prefix  prefix
	crc     uint32
	length  int64
}

// NewPacker returns a packer of bodies for calls of f.
func (f *Filter) NewPacker() (*Packer, error) {
	p := &Packer{clean: cleaner{verbatim: f.cfg.Mode == Legacy}}
	var err error
	p.deflate, err = flate.NewWriter(&p.out, packLevel)
	return p, err
}

// Write adds the next piece of a body.
func (p *Packer) Write(b []byte) (int, error) {
	if err := p.clean.clean(b, p); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *Packer) write(b []byte) error {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, b)
	p.length += int64(len(b))
	_ = p.prefix.write(b) // it never fails
	_, err := p.deflate.Write(b)
	return err
}

// Pack ends the body. The next Write begins another.
func (p *Packer) Pack() (*Packed, error) {
	defer p.reset()
	if _, err := p.clean.finish(p); err != nil {
		return nil, err
	}
	k := &Packed{crc: p.crc, shift: shift(p.length), length: p.length, empty: p.prefix.kind() == Empty}
	if p.length > 0 {
		if err := p.deflate.Flush(); err != nil {
			return nil, err
		}
		k.middle = bytes.Clone(p.out.Bytes())
	}
	return k, nil
}

func (p *Packer) reset() {
	p.out.Reset()
	p.deflate.Reset(&p.out)
	p.clean, p.prefix, p.crc, p.length = cleaner{verbatim: p.clean.verbatim}, prefix{}, 0, 0
}

// Middle returns the part between the head and the tail that Call returns.
func (k *Packed) Middle() []byte { return k.middle }

// Weight returns the memory in bytes that k refers to.
func (k *Packed) Weight() int64 { return int64(cap(k.middle)) }

const (
	gzipHeader  = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	gzipTrailer = 8
	storedHead  = 5
)

// CallLength returns the length of the wrapped body in gzip.
func (k *Packed) CallLength(c *Call) int64 {
	return int64(len(gzipHeader)+storedHead+c.headLength()+len(k.middle)+storedHead+len(c.tail(k.empty))) + gzipTrailer
}

// Call returns the wrapped body in gzip, around Middle: it appends the head to before and
// the tail to after.
func (k *Packed) Call(before, after []byte, c *Call) (head, tail []byte) {
	n := c.headLength()
	before = appendStored(append(before, gzipHeader...), n, false)
	start := len(before)
	before = c.AppendHead(before)
	crc := crc32.Update(0, crc32.IEEETable, before[start:])

	end := c.tail(k.empty)
	after = appendStored(after, len(end), true)
	start = len(after)
	after = append(after, end...)
	return before, k.appendTrailer(after, crc, n, start)
}

// appendStored appends the header of a stored block of n bytes.
func appendStored(dst []byte, n int, final bool) []byte {
	dst = append(dst, bit(final))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
	return binary.LittleEndian.AppendUint16(dst, ^uint16(n))
}

// appendTrailer ends the member. crc and before are the CRC and the length of the bytes
// before the middle; the bytes behind it begin at start in dst.
func (k *Packed) appendTrailer(dst []byte, crc uint32, before, start int) []byte {
	crc = multiply(k.shift, crc) ^ k.crc
	crc = crc32.Update(crc, crc32.IEEETable, dst[start:])
	length := int64(before) + k.length + int64(len(dst)-start)
	dst = binary.LittleEndian.AppendUint32(dst, crc)
	return binary.LittleEndian.AppendUint32(dst, uint32(length))
}
