package sigv4

import (
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestVerifyAllocs checks that Verify doesn't allocate, whether the signature is in the header or
// in the query.
func TestVerifyAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	v := NewVerifier(region, service, keys)
	for _, target := range []string{"/", "/db/doc%20x?b=2&a=%2F1&a="} {
		r, body := example(target)
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := v.Verify(r, body, noon); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations; want 0", target, n)
		}
	}
	r, body := presigned()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := v.Verify(r, body, noon); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("presigned: %v allocations; want 0", n)
	}
}

// TestConcurrentDays verifies for two days concurrently from many goroutines, as happens around
// midnight.
func TestConcurrentDays(t *testing.T) {
	s := &secret{secret: "s3cr3t", region: region, service: service}
	want := [2]hmacKey{*s.signing([8]byte([]byte("20261120"))), *s.signing([8]byte([]byte("20261121")))}
	fresh := &secret{secret: "s3cr3t", region: region, service: service}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				day := (g + i) % 2
				if got := fresh.signing([8]byte([]byte(time.Date(2026, 11, 20+day, 0, 0, 0, 0, time.UTC).Format("20060102")))); *got != want[day] {
					t.Errorf("wrong key for day %d", day)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkVerify(b *testing.B) {
	v := NewVerifier(region, service, keys)
	r, body := example("/")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(r, body, noon); err != nil {
			b.Fatal(err)
		}
	}
}
