package policy

import (
	"github.com/kasoku/kasoku/internal/ascii"
)

// ParseDate parses an HTTP date in one of its three forms (RFC 9110, section 5.6.7), in any
// case and otherwise exactly:
//
//	Sun, 06 Nov 1994 08:49:37 GMT
//	Sunday, 06-Nov-94 08:49:37 GMT
//	Sun Nov  6 08:49:37 1994
//
// A two-digit year that would be more than 50 years after now is one of the previous
// century. The weekday is not compared with the date.
func ParseDate(b []byte, now int64) (unix int64, ok bool) {
	r := dateReader{text: b, ok: true}
	switch {
	case r.usual():
	case len(b) == len("Sun Nov  6 08:49:37 1994"):
		r.asctime()
	case len(b) > 3 && b[3] == ',':
		r.imf()
	default:
		r.rfc850(now)
	}
	if !r.ok || len(r.text) > 0 || !r.valid() {
		return 0, false
	}
	return r.unix(), true
}

// AppendDate appends a date in the preferred form.
func AppendDate(dst []byte, unix int64) []byte {
	days, secs := unix/86400, unix%86400
	if secs < 0 {
		days, secs = days-1, secs+86400
	}
	y, m, d := civil(days)
	weekday := ((days+4)%7 + 7) % 7
	dst = append(dst, weekdays[weekday][:3]...)
	dst = append(dst, ", "...)
	dst = append(two(dst, d), ' ')
	dst = append(append(dst, months[m-1]...), ' ')
	dst = append(two(two(dst, y/100), y%100), ' ')
	dst = append(two(dst, int(secs/3600)), ':')
	dst = append(two(dst, int(secs/60%60)), ':')
	return append(two(dst, int(secs%60)), " GMT"...)
}

func two(dst []byte, n int) []byte { return append(dst, byte('0'+n/10%10), byte('0'+n%10)) }

var (
	weekdays = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	months   = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// dateReader consumes the parts of a date from the start of text; ok becomes false at the
// first missing one.
type dateReader struct {
	text                 []byte
	ok                   bool
	year, month, day     int
	hour, minute, second int
}

// usual reads the preferred form in its usual case, which nearly all dates have: imf takes
// three times as long. It reports false, and has read nothing, if the date is not of that kind.
func (r *dateReader) usual() bool {
	b := r.text
	if len(b) != len("Sun, 06 Nov 1994 08:49:37 GMT") || string(b[3:5]) != ", " || b[7] != ' ' || b[11] != ' ' ||
		b[16] != ' ' || b[19] != ':' || b[22] != ':' || string(b[25:]) != " GMT" {
		return false
	}
	switch string(b[:3]) {
	case "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat":
	default:
		return false
	}
	month := monthNumber(string(b[8:11]))
	day, century, year := digits(b[5:]), digits(b[12:]), digits(b[14:])
	hour, minute, second := digits(b[17:]), digits(b[20:]), digits(b[23:])
	if month == 0 || min(day, century, year, hour, minute, second) < 0 {
		return false
	}
	r.year, r.month, r.day, r.hour, r.minute, r.second = century*100+year, month, day, hour, minute, second
	r.text = nil
	return true
}

// monthNumber returns the number of a month's short name, 0 if it is none.
func monthNumber(name string) int {
	switch name {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}

// digits returns the number that b's first two bytes are, -1 if they are not digits.
func digits(b []byte) int {
	tens, units := b[0]-'0', b[1]-'0'
	if tens > 9 || units > 9 {
		return -1
	}
	return int(tens)*10 + int(units)
}

func (r *dateReader) imf() {
	r.weekday(3)
	r.literal(", ")
	r.day = r.number(2)
	r.literal(" ")
	r.monthName()
	r.literal(" ")
	r.year = r.number(4)
	r.literal(" ")
	r.clock()
	r.literal(" gmt")
}

func (r *dateReader) rfc850(now int64) {
	r.weekday(9)
	r.literal(", ")
	r.day = r.number(2)
	r.literal("-")
	r.monthName()
	r.literal("-")
	r.year = r.number(2)
	r.literal(" ")
	r.clock()
	r.literal(" gmt")
	r.century(now)
}

func (r *dateReader) asctime() {
	r.weekday(3)
	r.literal(" ")
	r.monthName()
	r.literal(" ")
	if len(r.text) > 0 && r.text[0] == ' ' {
		r.literal(" ")
		r.day = r.number(1)
	} else {
		r.day = r.number(2)
	}
	r.literal(" ")
	r.clock()
	r.literal(" ")
	r.year = r.number(4)
}

// century completes a two-digit year: in now's century, or the previous one if that is more
// than 50 years ahead.
func (r *dateReader) century(now int64) {
	this, _, _ := civil(now / 86400)
	r.year += this - this%100
	if r.ok && r.valid() && r.unix() > r.addYears(now, 50) {
		r.year -= 100
	}
}

// addYears returns now plus years.
func (r *dateReader) addYears(now int64, years int) int64 {
	y, m, d := civil(now / 86400)
	return daysTo(y+years, m, d)*86400 + now%86400
}

func (r *dateReader) clock() {
	r.hour = r.number(2)
	r.literal(":")
	r.minute = r.number(2)
	r.literal(":")
	r.second = r.number(2)
}

func (r *dateReader) literal(s string) {
	if r.ok = r.ok && len(r.text) >= len(s) && ascii.EqualFold(r.text[:len(s)], s); r.ok {
		r.text = r.text[len(s):]
	}
}

func (r *dateReader) number(digits int) (n int) {
	if r.ok = r.ok && len(r.text) >= digits; !r.ok {
		return 0
	}
	for _, c := range r.text[:digits] {
		if c < '0' || c > '9' {
			r.ok = false
		}
		n = n*10 + int(c-'0')
	}
	r.text = r.text[digits:]
	return n
}

// weekday consumes a weekday's name, or its short form.
func (r *dateReader) weekday(limit int) {
	for _, w := range weekdays {
		w = w[:min(limit, len(w))]
		if len(r.text) >= len(w) && ascii.EqualFold(r.text[:len(w)], w) {
			r.text = r.text[len(w):]
			return
		}
	}
	r.ok = false
}

func (r *dateReader) monthName() {
	for i, m := range months {
		if len(r.text) >= 3 && ascii.EqualFold(r.text[:3], m) {
			r.month, r.text = i+1, r.text[3:]
			return
		}
	}
	r.ok = false
}

// valid reports whether the day and time exist. A leap second does.
func (r *dateReader) valid() bool {
	if r.month < 1 || r.day < 1 || r.hour > 23 || r.minute > 59 || r.second > 60 {
		return false
	}
	if r.day <= 28 {
		return r.month <= 12
	}
	_, m, d := civil(daysTo(r.year, r.month, r.day))
	return m == r.month && d == r.day
}

func (r *dateReader) unix() int64 {
	return daysTo(r.year, r.month, r.day)*86400 + int64(r.hour*3600+r.minute*60+r.second)
}

// daysTo returns the days from 1970-01-01 to a date of the Gregorian calendar. Years are
// counted from March, so that the leap day is a year's last.
func daysTo(y, m, d int) int64 {
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := floorDiv(y, 400)
	ofEra := y - era*400
	ofYear := (153*(m-3)+2)/5 + d - 1
	return int64(era)*146097 + int64(ofEra*365+ofEra/4-ofEra/100+ofYear) - 719468
}

// civil is the inverse of daysTo.
func civil(days int64) (y, m, d int) {
	n := int(days) + 719468
	era := floorDiv(n, 146097)
	ofEra := n - era*146097
	year := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := ofEra - (year*365 + year/4 - year/100)
	month := (5*ofYear + 2) / 153
	d = ofYear - (153*month+2)/5 + 1
	y = year + era*400
	if m = month + 3; m > 12 {
		y, m = y+1, m-12
	}
	return y, m, d
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
