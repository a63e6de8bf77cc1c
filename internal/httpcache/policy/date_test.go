package policy

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// in2026 is a time for tests: 2026-11-22 07:00:00 UTC, and then the Moment.
const (
	in2026        = 1795330800
	then   Moment = in2026 * perSecond
)

// later returns the time some seconds after then.
func later(seconds int64) Moment { return then + Moment(seconds)*perSecond }

func TestParseDate(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		if got, ok := ParseDate([]byte(text), in2026); !ok || got != want {
			t.Errorf("%q: got %d, %t; want %d", text, got, ok, want)
		}
	}
	// RFC 9110, section 5.6.7: three forms of one time.
	f("Sun, 06 Nov 1994 08:49:37 GMT", 784111777)
	f("Sunday, 06-Nov-94 08:49:37 GMT", 784111777)
	f("Sun Nov  6 08:49:37 1994", 784111777)
	f("Sun Nov 16 08:49:37 1994", 784111777+10*86400)
	// Case does not count; whether the weekday fits is not checked.
	f("sUN, 06 nOV 1994 08:49:37 gmt", 784111777)
	f("MONDAY, 06-NOV-94 08:49:37 gmt", 784111777)
	f("sun nov  6 08:49:37 1994", 784111777)
	// Far away, and the day that a year of two digits turns on.
	f("Tue, 19 Jan 2038 03:14:08 GMT", 1<<31)
	f("Sat, 20 Nov 2286 17:46:40 GMT", 10_000_000_000)
	f("Fri, 31 Dec 9999 23:59:59 GMT", 253402300799)
	f("Mon, 01 Jan 0001 00:00:00 GMT", -62135596800)
	f("Wednesday, 01-Jan-70 00:00:00 GMT", 3155760000)
	f("Friday, 01-Jan-99 00:00:00 GMT", 915148800)
	f("Sunday, 22-Nov-76 07:00:00 GMT", 3373254000)
	f("Monday, 22-Nov-76 07:00:01 GMT", 217494001)
	// Leap days and seconds.
	f("Tue, 29 Feb 2000 00:00:00 GMT", 951782400)
	f("Sat, 31 Dec 2016 23:59:60 GMT", 1483228800)
}

func TestParseDateRefuses(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if got, ok := ParseDate([]byte(text), in2026); ok || got != 0 {
			t.Errorf("%q was accepted as %d", text, got)
		}
	}
	f("")
	f("0")
	f("-1")
	f("Sun, 06 Nov 1994 08:49:37 UTC")
	f("Sun, 06 Nov 1994 08:49:37 AEST")
	f("Sun, 06 Nov 1994 08:49:37 +0000")
	f("Sun, 06 Nov 1994 08:49:37")
	f("Sun, 06 Nov 94 08:49:37 GMT")
	f("Sun 06 Nov 1994 08:49:37 GMT")
	f("Sun,  06 Nov 1994 08:49:37 GMT")
	f("Sun, 06  Nov 1994 08:49:37 GMT")
	f("Sun, 06-Nov-1994 08:49:37 GMT")
	f("Sun, 6 Nov 1994 08:49:37 GMT")
	f("Sun, 06 Nov 1994 8:49:37 GMT")
	f("Sun, 06 Nov 1994 08.49.37 GMT")
	f("Sun, 06 Nov 1994 08:49 GMT")
	f("Sun, 06 Nov 1994 24:00:00 GMT")
	f("Sun, 06 Nov 1994 08:60:00 GMT")
	f("Sun, 06 Nov 1994 08:49:61 GMT")
	f("Sun, 31 Nov 1994 08:49:37 GMT")
	f("Sun, 00 Nov 1994 08:49:37 GMT")
	f("Mon, 29 Feb 1900 08:49:37 GMT")
	f("Sun, 06 Nov 1994 08:49:37 GMT ")
	f(" Sun, 06 Nov 1994 08:49:37 GMT")
	f("Son, 06 Nov 1994 08:49:37 GMT")
	f("Sun, 06 Okt 1994 08:49:37 GMT")
	f("Sunday, 06 Nov 1994 08:49:37 GMT")
	f("Sunday, 06-Nov-1994 08:49:37 GMT")
	f("Sun, 06-Nov-94 08:49:37 GMT")
	f("Sun Nov 6 08:49:37 1994")
	f("Sun Nov 06 08:49:37 94")
	f("Sun Nov  6 08:49:37 1994 GMT")
	f("Sun Nov  6  8:49:37 1994")
	f("1994-11-06T08:49:37Z")
	f("784111777")
}

// TestDatesRoundTrip compares with the calendar of package time.
func TestDatesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unix := rapid.Int64Range(-62135596800, 253402300799).Draw(t, "unix")
		then := time.Unix(unix, 0).UTC()
		text := string(AppendDate(nil, unix))
		if want := then.Format("Mon, 02 Jan 2006 15:04:05 GMT"); text != want {
			t.Fatalf("%d: got %q, want %q", unix, text, want)
		}
		for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.ANSIC} {
			if got, ok := ParseDate([]byte(then.Format(layout)), in2026); !ok || got != unix {
				t.Fatalf("%s: got %d, %t; want %d", then.Format(layout), got, ok, unix)
			}
		}
		old := then.Format("Monday, 02-Jan-06 15:04:05 GMT")
		want := oldDate(then)
		if got, ok := ParseDate([]byte(old), in2026); ok != (want != nil) || ok && got != want.Unix() {
			t.Fatalf("%s: got %d, %t; want %v", old, got, ok, want)
		}
	})
}

// TestDamagedDates changes bytes of a date in its usual case, which is read in another way than one
// in lower case: both must mean the same.
func TestDamagedDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := AppendDate(nil, rapid.Int64Range(-62135596800, 253402300799).Draw(t, "unix"))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("0123456789:;/ ,JSMTagGz\x00\xff")).Draw(t, "byte")
		}
		got, ok := ParseDate(text, in2026)
		want, wantOK := ParseDate(bytes.ToLower(text), in2026)
		if got != want || ok != wantOK {
			t.Fatalf("%q: got %d, %t; in lower case %d, %t", text, got, ok, want, wantOK)
		}
	})
}

// oldDate is the time that a date without a century means in 2026: the latest of
// its possible ones that is no more than 50 years ahead, if this or the last
// century has such a day.
func oldDate(then time.Time) *time.Time {
	limit := time.Unix(in2026, 0).UTC().AddDate(50, 0, 0)
	for _, century := range []int{2000, 1900} {
		d := time.Date(century+then.Year()%100, then.Month(), then.Day(), then.Hour(), then.Minute(), then.Second(), 0, time.UTC)
		if d.Day() == then.Day() && !d.After(limit) {
			return &d
		}
		if d.Day() != then.Day() && century == 2000 {
			return nil
		}
	}
	return nil
}
