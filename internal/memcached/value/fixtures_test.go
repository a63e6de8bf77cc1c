package value

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stored returns the bytes that php-memcached 3.2.0 wrote, flags 0x50, for one of the texts
// below.
func stored(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// shortText is that of php-fastlz1.bin: short texts are compressed at level 1.
func shortText() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `{"entry":%d,"status":"success","count":1000},`, i)
	}
	return b.String()
}

// longText is that of php-fastlz2.bin: it has a repetition at a distance that level 1 can't
// encode, and a run of one pattern.
func longText() string {
	var b strings.Builder
	x := int64(12345)
	for range 30 {
		x = (x*1103515245 + 12345) % (1 << 31)
		fmt.Fprintf(&b, "%x", x)
	}
	odd := b.String()
	return odd + strings.Repeat("0", 9000) + odd + strings.Repeat("ab", 30000)
}
