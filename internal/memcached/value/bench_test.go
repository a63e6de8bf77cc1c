package value

import "testing"

func BenchmarkLook(b *testing.B) {
	data := []byte(long)
	for b.Loop() {
		if _, reason := CMF.Inspect(0, data); reason != OK {
			b.Fatal(reason)
		}
	}
}

func BenchmarkAppendPlain(b *testing.B) {
	for _, c := range []struct {
		name  string
		flags uint32
		data  string
	}{
		{"gzip", 0, gzipped(long)},
		{"zlib", 0, zlibbed(long)},
		{"zstd", 0, zstded(long)},
		{"fastlz", 0x50, stored(b, "php-fastlz1.bin")},
	} {
		b.Run(c.name, func(b *testing.B) {
			v, reason := PHP.Inspect(c.flags, []byte(c.data))
			if reason != OK {
				b.Fatal(reason)
			}
			room := make([]byte, 0, 1<<20)
			for b.Loop() {
				out, err := v.AppendPlain(room, limit)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(out)))
			}
		})
	}
}

func BenchmarkAppendGzip(b *testing.B) {
	v, reason := Raw.Inspect(0, []byte(zlibbed(long)))
	if reason != OK {
		b.Fatal(reason)
	}
	room := make([]byte, 0, 1<<20)
	b.SetBytes(int64(len(long)))
	for b.Loop() {
		if _, ok := v.AppendGzip(room); !ok {
			b.Fatal("not framed")
		}
	}
}
