package embedded

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Tables and streams have no policies of their own: permissions are part of the service's
// configuration.

// policyOwner returns the ARN of the table or stream of a request about a policy, and an
// error if it does not exist.
func (c *call) policyOwner() (arn string, err error) {
	arn = c.memberText("ResourceArn")
	table, rest, err := catalog.Resource(arn)
	if err != nil {
		return "", err
	}
	if _, err := c.s.info(table); err != nil {
		return "", err
	}
	if label, ok := strings.CutPrefix(rest, "stream/"); ok && c.s.streams.find(table, label) == nil {
		return "", &wire.Error{Type: "ResourceNotFoundException",
			Message: "Requested resource not found: Stream: " + label + " not found for Table: " + table}
	}
	return arn, nil
}

func errNoPolicy(arn string) *wire.Error {
	return &wire.Error{Type: "PolicyNotFoundException", Message: "Resource-based policy not found for the provided ResourceArn: " + arn}
}

func (c *call) getResourcePolicy() error {
	arn, err := c.policyOwner()
	if err != nil {
		return err
	}
	return errNoPolicy(arn)
}

// deleteResourcePolicy has nothing to delete. It succeeds, unless the request expects a
// certain revision.
func (c *call) deleteResourcePolicy() error {
	arn, err := c.policyOwner()
	if err != nil {
		return err
	}
	if c.member("ExpectedRevisionId") != nil {
		return errNoPolicy(arn)
	}
	c.out = append(c.out, `{}`...)
	return nil
}

func (c *call) putResourcePolicy() error {
	if _, err := c.policyOwner(); err != nil {
		return err
	}
	return catalog.ErrNoPolicies
}
