package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// This file implements the RFCs a second time, for comparison: paragraph by paragraph, with
// strings, regular expressions and package time, and independently of the package.

// message is a header as in RFC 9110, section 5.3: the lines by lower-case name.
type message map[string][]string

func messageOf(h http1.Fields) message {
	m := message{}
	for _, f := range h {
		name := strings.ToLower(string(f.Name))
		m[name] = append(m[name], string(f.Value))
	}
	return m
}

// members returns the members of a list field, RFC 9110, section 5.6.1.
func (m message) members(name string) (all []string) {
	for _, line := range m[name] {
		all = append(all, splitList(line)...)
	}
	return all
}

var listMember = regexp.MustCompile(`^(?:[^",]|"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*\\?$)*`)

func splitList(line string) (members []string) {
	for {
		m := listMember.FindString(line)
		if trimmed := strings.Trim(m, " \t"); trimmed != "" {
			members = append(members, trimmed)
		}
		if len(m) >= len(line) {
			return members
		}
		line = line[len(m)+1:]
	}
}

// Cache-Control, RFC 9111, section 5.2.
const tokenText = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

var (
	bareDirective  = regexp.MustCompile("^(" + tokenText + ")$")
	givenDirective = regexp.MustCompile("^(" + tokenText + `)=("(?:[^"\\]|\\.)*"|` + tokenText + ")$")
	badDirective   = regexp.MustCompile("^(" + tokenText + ")=(?:[^ \t].*)?$")
	escape         = regexp.MustCompile(`\\(.)`)
)

type rfcDirective struct {
	name     string
	arg      string
	has, bad bool
}

func directives(members []string) (all []rfcDirective) {
	for _, m := range members {
		if b := bareDirective.FindStringSubmatch(m); b != nil {
			all = append(all, rfcDirective{name: strings.ToLower(b[1])})
		} else if g := givenDirective.FindStringSubmatch(m); g != nil {
			arg := g[2]
			if arg[0] == '"' {
				arg = escape.ReplaceAllString(arg[1:len(arg)-1], "$1")
			}
			all = append(all, rfcDirective{strings.ToLower(g[1]), arg, true, false})
		} else if b := badDirective.FindStringSubmatch(m); b != nil {
			all = append(all, rfcDirective{strings.ToLower(b[1]), "", true, true})
		}
	}
	return all
}

// find returns the first well-formed directive of that name, if there is one.
func find(all []rfcDirective, name string) (rfcDirective, bool) {
	for _, d := range all {
		if d.name == name && !d.bad {
			return d, true
		}
	}
	return rfcDirective{}, false
}

var deltaSeconds = regexp.MustCompile(`^[0-9]+$`)

func delta(s string) (int64, bool) {
	if !deltaSeconds.MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > maxDelta {
		n = maxDelta
	}
	return n, true
}

// firstNumber returns the first argument of that name that is a number.
func firstNumber(all []rfcDirective, name string) (int64, bool) {
	for _, d := range all {
		if d.name == name && d.has && !d.bad {
			if n, ok := delta(d.arg); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// Dates, RFC 9110, section 5.6.7.
var (
	imfDate  = regexp.MustCompile(`^(?:mon|tue|wed|thu|fri|sat|sun), (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt$`)
	oldDates = regexp.MustCompile(`^(?:mon|tues|wednes|thurs|fri|satur|sun)day, (\d\d)-([a-z]{3})-(\d\d) (\d\d):(\d\d):(\d\d) gmt$`)
	cDate    = regexp.MustCompile(`^(?:mon|tue|wed|thu|fri|sat|sun) ([a-z]{3}) ((?: \d)|\d\d) (\d\d):(\d\d):(\d\d) (\d{4})$`)
)

func readDate(s string, now int64) (int64, bool) {
	s = asciiLower(s)
	if p := imfDate.FindStringSubmatch(s); p != nil {
		return calendar(p[3], p[2], p[1], p[4], p[5], p[6])
	}
	if p := cDate.FindStringSubmatch(s); p != nil {
		return calendar(p[6], p[1], strings.TrimSpace(p[2]), p[3], p[4], p[5])
	}
	p := oldDates.FindStringSubmatch(s)
	if p == nil {
		return 0, false
	}
	today := time.Unix(now, 0).UTC()
	century := strconv.Itoa(today.Year() / 100)
	t, ok := calendar(century+p[3], p[2], p[1], p[4], p[5], p[6])
	if ok && time.Unix(t, 0).After(today.AddDate(50, 0, 0)) {
		return calendar(strconv.Itoa(today.Year()/100-1)+p[3], p[2], p[1], p[4], p[5], p[6])
	}
	return t, ok
}

func calendar(year, month, day, hour, minute, second string) (int64, bool) {
	n := func(s string) int { v, _ := strconv.Atoi(s); return v }
	m := slices.IndexFunc([]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"},
		func(s string) bool { return s == month })
	if m < 0 || n(day) < 1 || n(hour) > 23 || n(minute) > 59 || n(second) > 60 {
		return 0, false
	}
	d := time.Date(n(year), time.Month(m+1), n(day), 0, 0, 0, 0, time.UTC)
	if d.Day() != n(day) {
		return 0, false
	}
	return d.Unix() + int64(n(hour)*3600+n(minute)*60+n(second)), true
}

// Dictionaries, RFC 8941, section 3.2 and appendix B's grammar.
var (
	sfKey    = `[a-z*][a-z0-9_.*-]*`
	sfBare   = `(?:-?[0-9]{1,12}\.[0-9]{1,3}|-?[0-9]{1,15}|"(?:[ !#-\[\]-~]|\\["\\])*"|[A-Za-z*][:/` + tokenText[1:len(tokenText)-2] + `]*|:[A-Za-z0-9+/=]*:|\?[01])`
	sfParams = `(?:; *` + sfKey + `(?:=` + sfBare + `)?)*`
	sfInner  = `\( *(?:` + sfBare + sfParams + `(?: +` + sfBare + sfParams + `)* *)?\)`
	sfMember = `(` + sfKey + `)(?:=(` + sfBare + `|` + sfInner + `))?` + sfParams
	sfDict   = regexp.MustCompile(`^ *(?:` + sfMember + `(?:[ \t]*,[ \t]*` + sfMember + `)*[ \t]*)?$`)
	sfFirst  = regexp.MustCompile(`^[ \t,]*` + sfMember)
	sfItem   = regexp.MustCompile(`^ *(` + sfBare + `)` + sfParams)
	sfInt    = regexp.MustCompile(`^-?[0-9]+$`)
)

// targetedDirectives parses a targeted field (RFC 9213, section 2.1) into the equivalent
// directives of Cache-Control.
func targetedDirectives(text string) (all []rfcDirective, ok bool) {
	if !sfDict.MatchString(text) {
		return nil, false
	}
	last := map[string]string{}
	for rest := text; ; {
		m := sfFirst.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		last[m[1]] = m[2]
		rest = rest[len(m[0]):]
	}
	for key, value := range last {
		switch key {
		case "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error":
			if !sfInt.MatchString(value) {
				return nil, false
			}
			if strings.HasPrefix(value, "-") && strings.Trim(value, "-0") != "" {
				all = append(all, rfcDirective{name: key, has: true, bad: true})
			} else {
				all = append(all, rfcDirective{name: key, arg: strings.TrimLeft(value, "-"), has: true})
			}
		case "no-cache", "private":
			if value != "" && value[0] != '?' {
				names, ok := qualified(value)
				if !ok {
					return nil, false
				}
				all = append(all, rfcDirective{name: key, arg: names, has: true})
				continue
			}
			fallthrough
		case "no-store", "public", "must-revalidate", "proxy-revalidate", "must-understand", "immutable", "no-transform", "only-if-cached":
			if value != "" && value != "?1" && value != "?0" {
				return nil, false
			}
			if value != "?0" {
				all = append(all, rfcDirective{name: key})
			}
		}
	}
	return all, true
}

// qualified returns the names of fields in a String, a Token or an Inner List.
func qualified(value string) (names string, ok bool) {
	if c := value[0]; c == '-' || c == ':' || c >= '0' && c <= '9' {
		return "", false
	}
	var texts []string
	for rest := strings.TrimPrefix(value, "("); ; {
		item := sfItem.FindStringSubmatch(rest)
		if item == nil {
			break
		}
		if c := item[1][0]; c == '"' {
			texts = append(texts, escape.ReplaceAllString(item[1][1:len(item[1])-1], "$1"))
		} else if c == '*' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			texts = append(texts, item[1])
		}
		rest = rest[len(item[0]):]
	}
	return strings.Join(texts, ","), true
}

// Content-Range, RFC 9110, section 14.4.
var contentRange = regexp.MustCompile(`^bytes ([0-9]+)-([0-9]+)/([0-9]+)$`)

// entityTag is that of RFC 9110, section 8.8.3, at the start of a list.
var entityTag = regexp.MustCompile(`^[ \t,]*((?:W/)?"[!#-~\x80-\xff]*")[ \t]*(?:,|$)`)

// weakTags returns the tags of a list without their W/.
func weakTags(list string) (tags []string) {
	for list != "" {
		if t := entityTag.FindStringSubmatch(latin1(list)); t != nil {
			tags = append(tags, strings.TrimPrefix(bytesOf(t[1]), "W/"))
			list = list[len(bytesOf(t[0])):]
			continue
		}
		list = strings.TrimLeft(list, " \t,")
		m := listMember.FindString(list)
		tags = append(tags, strings.TrimPrefix(strings.Trim(m, " \t"), "W/"))
		list = strings.TrimPrefix(list[len(m):], ",")
	}
	return slices.DeleteFunc(tags, func(t string) bool { return t == "" })
}

// latin1 converts each byte to a character, so that patterns match bytes. bytesOf is its
// inverse.
func latin1(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

func bytesOf(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// asciiLower implements HTTP's case-insensitivity.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
