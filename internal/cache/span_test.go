package cache

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 0, -time.Second: 0, 1: time.Millisecond, time.Millisecond: time.Millisecond, 2047 * time.Millisecond: 2047 * time.Millisecond,
		2049 * time.Millisecond: 2050 * time.Millisecond, 4095 * time.Millisecond: 4096 * time.Millisecond, 4 * time.Second: 4 * time.Second,
	} {
		if got := spanOf(d).duration(); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(forever)).Draw(t, "d"))
		if got := spanOf(d).duration(); got < d || float64(got-time.Millisecond) > float64(d)*1.001 {
			t.Errorf("%s became %s", d, got)
		}
	})
}

// The age of an entry is the time since it was filled, also if a form was attached to it.
func TestEntryAge(t *testing.T) {
	c, s := open(t, Config{})
	for _, ttl := range []time.Duration{time.Minute, 36 * time.Hour, forever} {
		before := c.Now()
		e, stored := s.Store(c.Note(tags("a")...), []byte("k"), &Filling{Payload: []byte("v"), TTL: ttl})
		after := c.Now()
		if !stored {
			t.Fatal("not stored")
		}
		precision := ttl/1000 + time.Millisecond
		for _, wait := range []time.Duration{0, time.Second, time.Hour} {
			if age := e.Age(after + int64(wait)); age < wait || age > wait+time.Duration(after-before)+precision {
				t.Errorf("with a TTL of %s the age is %s after %s", ttl, age, wait)
			}
		}
		s.Attach(e, []byte("form"))
		attached, _ := s.Peek([]byte("k"), after)
		if attached == e || attached.Age(after+int64(time.Hour)) != e.Age(after+int64(time.Hour)) {
			t.Error("an entry with a form has another age")
		}
	}
}
