package anonymise

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// fake returns an invented value in place of a scalar. It is a string; a number has a phone
// number or a time in place. Other scalars get their hash, so that the type is kept.
func (k *keyed) fake(as string, v value.Value) value.Value {
	d := draw{sum: k.sum("fake "+as, v.Type, v.Text)}
	switch {
	case v.Type == value.String:
		v.Text = []byte(d.text(as, string(v.Text)))
		return v
	case v.Type == value.Number && as == "phone":
		return value.Value{Type: value.Number, Text: []byte("999" + d.digits(10))}
	case v.Type == value.Number && as == "date":
		return d.epoch(v)
	}
	return k.hash(v)
}

// draw draws from lists by the bytes of a code.
type draw struct {
	sum  [32]byte
	used int
}

// n returns a number below limit.
func (d *draw) n(limit int) int {
	at := d.used % (len(d.sum) - 3)
	d.used += 4
	return int(binary.BigEndian.Uint32(d.sum[at:]) % uint32(limit))
}

func (d *draw) word(list []string) string { return list[d.n(len(list))] }

func (d *draw) digits(n int) string {
	text := strconv.Itoa(1 + d.n(9))
	for len(text) < n {
		text += strconv.Itoa(d.n(10))
	}
	return text
}

// text returns an invented text of a kind. Some kinds follow the form of the original.
func (d *draw) text(as, original string) string {
	switch as {
	case "first_name":
		return d.word(firstNames)
	case "last_name":
		return d.word(lastNames)
	case "name":
		return d.word(firstNames) + " " + d.word(lastNames)
	case "email":
		// Half of the code makes different addresses of different values.
		return fmt.Sprintf("%s.%s@example.com", lower(d.word(firstNames)), hex.EncodeToString(d.sum[16:]))
	case "phone":
		return "+999 " + d.digits(10) // no country has this code
	case "address":
		return fmt.Sprintf("%d %s, %s", 1+d.n(400), d.word(streets), d.word(cities))
	case "city":
		return d.word(cities)
	case "company":
		return d.word(lastNames) + " " + d.word(companies)
	case "ip":
		return fmt.Sprintf("198.%d.%d.%d", 18+d.n(2), d.n(256), d.n(256)) // a block for tests
	case "date":
		return d.time(original)
	}
	d.sum[6] = d.sum[6]&0x0f | 0x40 // uuid, version 4
	d.sum[8] = d.sum[8]&0x3f | 0x80
	u := d.sum[:]
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// The invented times are in these years.
var (
	firstTime = time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
)

// seconds returns a time in seconds since 1970.
func (d *draw) seconds(from time.Time) int64 {
	return from.Unix() + int64(d.n(int(lastTime.Sub(from).Hours())))*3600 + int64(d.n(3600))
}

// layouts are the forms of dates that are kept.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly}

// time returns an invented date in the form of the original, or as 2006-01-02.
func (d *draw) time(original string) string {
	layout := time.DateOnly
	for _, l := range layouts {
		if _, err := time.Parse(l, original); err == nil {
			layout = l
			break
		}
	}
	return time.Unix(d.seconds(firstTime), 0).UTC().Format(layout)
}

// epoch returns an invented time since 1970, in milliseconds if the original is too large for
// seconds.
func (d *draw) epoch(original value.Value) value.Value {
	n := d.seconds(time.Unix(0, 0))
	if old, err := strconv.ParseFloat(string(original.Text), 64); err == nil && old > 1e11 {
		n *= 1000
	}
	return value.Value{Type: value.Number, Text: strconv.AppendInt(nil, n, 10)}
}
