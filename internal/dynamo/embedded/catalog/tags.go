package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Bounds of tags.
const (
	maxTags     = 50
	maxTagKey   = 128 // characters
	maxTagValue = 256

	minTableName = 3 // of a table whose ARN is the resource
)

// tagList is the list of tags in a request.
type tagList struct {
	tags      []Tag
	keyless   []int // indexes of tags without a key
	valueless []int // indexes of tags without a value
}

func readTags(v []byte) (l tagList, err error) {
	for i, e := range elements(v) {
		m, err := members(e, "Key", "Value")
		if err != nil {
			return l, err
		}
		if m[0] == nil {
			l.keyless = append(l.keyless, i)
		}
		if m[1] == nil {
			l.valueless = append(l.valueless, i)
		}
		l.tags = append(l.tags, Tag{text(m[0]), text(m[1])})
	}
	return l, nil
}

// check checks the tags of a request.
func (l tagList) check() error {
	seen := map[string]bool{}
	for i, tag := range l.tags {
		if slices.Contains(l.keyless, i) {
			return wire.Invalid("The Tag Key provided is invalid, Key: null")
		}
		if strings.HasPrefix(tag.Key, "aws:") {
			return wire.Invalid("Tag Key cannot be prefixed with aws:, Key: %s", tag.Key)
		}
		if err := checkTagKey(tag.Key); err != nil {
			return err
		}
		if slices.Contains(l.valueless, i) {
			return wire.Invalid("The Tag Value provided is invalid, Value: null")
		}
		if utf8.RuneCountInString(tag.Value) > maxTagValue || !tagText(tag.Value) {
			return wire.Invalid("The Tag Value provided is invalid, Value: %s", tag.Value)
		}
		if seen[tag.Key] {
			return wire.Invalid("Duplicate Tag Keys provided as input: Duplicate Tag Key found %s", tag.Key)
		}
		seen[tag.Key] = true
	}
	return checkTagCount(len(l.tags))
}

func checkTagKey(key string) error {
	if key == "" || utf8.RuneCountInString(key) > maxTagKey || !tagText(key) {
		return wire.Invalid("The Tag Key provided is invalid, Key: %s", key)
	}
	return nil
}

func checkTagCount(n int) error {
	if n > maxTags {
		return wire.Invalid("Number of Tags exceed the current limit for the provided ResourceArn")
	}
	return nil
}

// tagText reports whether all characters are allowed in a tag.
func tagText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !unicode.IsSpace(r) && !strings.ContainsRune("+-=._:/@", r)
	})
}

func sortTags(tags []Tag) []Tag {
	slices.SortFunc(tags, func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags
}

// TagRequest is a TagResource or UntagResource request.
type TagRequest struct {
	Table string   // the table with the tags
	arn   string   // as in the request
	Set   []Tag    // for TagResource
	Unset []string // for UntagResource
}

// ReadTag reads the body of a TagResource request.
func ReadTag(body []byte) (TagRequest, error) {
	m, err := members(body, "ResourceArn", "Tags")
	if err != nil {
		return TagRequest{}, err
	}
	r := TagRequest{arn: text(m[0])}
	if r.Table, err = TagOwner(r.arn); err != nil {
		return r, err
	}
	l, err := readTags(m[1])
	if err != nil {
		return r, err
	}
	if r.Set = l.tags; len(r.Set) == 0 {
		return r, wire.Invalid("Atleast one Tag needs to be provided as Input.")
	}
	return r, l.check()
}

// ReadUntag reads the body of an UntagResource request.
func ReadUntag(body []byte) (TagRequest, error) {
	m, err := members(body, "ResourceArn", "TagKeys")
	if err != nil {
		return TagRequest{}, err
	}
	r := TagRequest{arn: text(m[0]), Unset: texts(m[1])}
	if r.Table, err = TagOwner(r.arn); err != nil {
		return r, err
	}
	if len(r.Unset) == 0 {
		return r, wire.Invalid("Atleast one Tag Key needs to be provided as Input.")
	}
	for _, key := range r.Unset {
		if err := checkTagKey(key); err != nil {
			return r, err
		}
	}
	return r, checkTagCount(len(r.Unset))
}

// TagOwner returns the name of the table with the ARN, as an owner of tags. The table need
// not exist.
func TagOwner(arn string) (string, error) {
	if !strings.HasPrefix(arn, "arn:") {
		return "", invalid("ARNs must start with 'arn:': %s", arn)
	}
	table, rest, ok := resource(arn)
	if !ok || rest != "" || len(table) < minTableName {
		return "", wire.Invalid("Invalid TableArn: Invalid ResourceArn provided as input %s", arn)
	}
	return table, nil
}

// Tagged returns the table with its tags changed.
func (t *Table) Tagged(r TagRequest) (*Table, error) {
	next := *t
	next.Tags = nil
	for _, tag := range t.Tags {
		replaced := slices.ContainsFunc(r.Set, func(s Tag) bool { return s.Key == tag.Key })
		if !replaced && !slices.Contains(r.Unset, tag.Key) {
			next.Tags = append(next.Tags, tag)
		}
	}
	next.Tags = sortTags(append(next.Tags, r.Set...))
	return &next, checkTagCount(len(next.Tags))
}
