package embedded

import (
	"encoding/base64"
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// errNoResource is what operations on tags say of a table that is not there, in
// the service's spelling.
func errNoResource(arn string) *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: fmt.Sprintf("Requested resource not found: ResourcArn: %s not found", arn)}
}

func (c *call) tagResource() error {
	r, err := catalog.ReadTag(c.body, c.s.place())
	if err != nil {
		return err
	}
	return c.changeTags(r)
}

func (c *call) untagResource() error {
	r, err := catalog.ReadUntag(c.body, c.s.place())
	if err != nil {
		return err
	}
	return c.changeTags(r)
}

// changeTags changes the tags of a table. The reply has no body.
func (c *call) changeTags(r catalog.TagRequest) error {
	if (*c.s.tables.Load())[r.Table] == nil {
		return errNoResource(c.memberText("ResourceArn"))
	}
	return c.s.alter(r.Table, c.now, func(info *catalog.Table, _ *disk.Batch) (*catalog.Table, error) {
		return info.Tagged(r)
	})
}

// tagsPerPage is how many tags a page has.
const tagsPerPage = 10

// listTagsOfResource returns a page of tags, which are in the order of their keys.
// NextToken is the last key of a page.
func (c *call) listTagsOfResource() error {
	arn := c.memberText("ResourceArn")
	name, err := c.s.place().TagOwner(arn)
	if err != nil {
		return err
	}
	info, err := c.s.info(name)
	if err != nil {
		return errNoResource(arn)
	}
	last, err := base64.URLEncoding.DecodeString(c.memberText("NextToken"))
	if err != nil {
		return errNextToken
	}
	tags := info.Tags
	for len(tags) > 0 && tags[0].Key <= string(last) {
		tags = tags[1:]
	}
	more := len(tags) > tagsPerPage
	tags = tags[:min(len(tags), tagsPerPage)]
	c.out = append(c.out, `{"Tags":[`...)
	for i, tag := range tags {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, `{"Key":`...)
		c.out = wire.AppendQuoted(c.out, []byte(tag.Key))
		c.out = append(c.out, `,"Value":`...)
		c.out = wire.AppendQuoted(c.out, []byte(tag.Value))
		c.out = append(c.out, '}')
	}
	c.out = append(c.out, ']')
	if more {
		c.out = append(c.out, `,"NextToken":"`...)
		c.out = base64.URLEncoding.AppendEncode(c.out, []byte(tags[tagsPerPage-1].Key))
		c.out = append(c.out, '"')
	}
	c.out = append(c.out, '}')
	return nil
}
