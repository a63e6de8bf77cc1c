package value

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"
)

// maxReframed is the maximum decoded size of a value that is reframed.
const maxReframed = 64 << 20

// AppendGzip appends the value as a gzip stream, if it is one or can be reframed without
// compressing it again: zlib has the same compressed data in another frame. The data is
// decoded once for gzip's checksum. It returns dst unchanged and false if the value has
// another coding, or AppendPlain would fail.
func (v *Value) AppendGzip(dst []byte) ([]byte, bool) {
	switch v.Coding {
	case Gzip:
		return append(dst, v.Body...), true
	case Zlib:
		return v.reframe(dst)
	}
	return dst, false
}

// The sizes of the frames, RFC 1950 section 2.2 and RFC 1952 section 2.3.
const (
	zlibHead = 2
	zlibTail = 4
)

// gzipHead is a header without a time, a name or an operating system.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

func (v *Value) reframe(dst []byte) ([]byte, bool) {
	sum, size, ok := v.sum()
	if !ok || v.Length >= 0 && size != v.Length {
		return dst, false
	}
	dst = append(dst, gzipHead...)
	dst = append(dst, v.Body[zlibHead:len(v.Body)-zlibTail]...)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return binary.LittleEndian.AppendUint32(dst, uint32(size)), true
}

// scratch holds buffers for decoded data that is discarded.
var scratch = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// sum returns the checksum and the size of the decoded value. ok is false if it is corrupt.
func (v *Value) sum() (sum uint32, size int64, ok bool) {
	d := zlibs.Get().(*decoder)
	room := scratch.Get().(*[32 << 10]byte)
	d.in.Reset(v.Body)
	err := d.reset(&d.in)
	for bound := v.bound(maxReframed); err == nil && size <= bound; {
		var n int
		n, err = d.out.Read(room[:])
		sum = crc32.Update(sum, crc32.IEEETable, room[:n])
		size += int64(n)
	}
	ok = err == io.EOF && d.in.Len() == 0 && size <= v.bound(maxReframed)
	d.in.Reset(nil)
	scratch.Put(room)
	zlibs.Put(d)
	return sum, size, ok
}
