package embedded

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// errNoResource is the error of operations on tags for a missing table, with the service's
// spelling.
func errNoResource(arn string) *wire.Error {
	return &wire.Error{Type: "ResourceNotFoundException", Message: fmt.Sprintf("Requested resource not found: ResourcArn: %s not found", arn)}
}

func (c *call) tagResource() error {
	r, err := catalog.ReadTag(c.body)
	if err != nil {
		return err
	}
	return c.changeTags(r)
}

func (c *call) untagResource() error {
	r, err := catalog.ReadUntag(c.body)
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
	return c.s.alter(r.Table, c.now, func(info *catalog.Table, _ kv.Batch) (*catalog.Table, error) {
		return info.Tagged(r)
	})
}

// listTagsOfResource returns all tags, ordered by key. Like the service it does not page, so
// every NextToken is invalid.
func (c *call) listTagsOfResource() error {
	arn := c.memberText("ResourceArn")
	name, err := catalog.TagOwner(arn)
	if err != nil {
		return err
	}
	info, err := c.s.info(name)
	if err != nil {
		return errNoResource(arn)
	}
	if c.memberText("NextToken") != "" {
		return errNextToken
	}
	c.out = append(c.out, `{"Tags":[`...)
	for i, tag := range info.Tags {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, `{"Key":`...)
		c.out = wire.AppendQuoted(c.out, []byte(tag.Key))
		c.out = append(c.out, `,"Value":`...)
		c.out = wire.AppendQuoted(c.out, []byte(tag.Value))
		c.out = append(c.out, '}')
	}
	c.out = append(c.out, "]}"...)
	return nil
}
