package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// pollInterval is the time between two looks at a table that is being created.
const pollInterval = 500 * time.Millisecond

// description is the part of a table's description that Prepare checks.
type description struct {
	TableArn               string
	TableStatus            string
	KeySchema              []struct{ AttributeName, KeyType string }
	AttributeDefinitions   []struct{ AttributeName, AttributeType string }
	Replicas               []struct{ RegionName string }
	MultiRegionConsistency string
}

// Prepare checks the table. It creates the table if it is missing and the origin allows that,
// and waits until it is active or ctx ends. It may be called again after an error.
func (s *Store) Prepare(ctx context.Context) error {
	d, err := s.describe(ctx)
	if hasCode(err, notFound) {
		if err := s.create(ctx); err != nil {
			return err
		}
		d, err = s.describe(ctx)
	}
	// A description is eventually consistent, so that a new table may still be missing.
	for asked := s.empty; hasCode(err, notFound) || err == nil && d.TableStatus == "CREATING"; {
		if !s.empty.IsZero() {
			s.empty = asked
		}
		if !pause.For(ctx, pollInterval) {
			return fmt.Errorf("cluster view: waiting until table %s is active: %w", s.cfg.Table, context.Cause(ctx))
		}
		asked = time.Now()
		d, err = s.describe(ctx)
	}
	if hasCode(err, accessDenied) {
		return s.advise(err)
	}
	if err != nil {
		return err
	}
	return s.accept(d)
}

// Empty returns a time at which the table had no item yet, if Prepare has created the table:
// there was no view before. Otherwise it returns the zero time. It must not be called during
// Prepare.
func (s *Store) Empty() time.Time { return s.empty }

// describe returns the table's description.
func (s *Store) describe(ctx context.Context) (*description, error) {
	answer, err := s.call(ctx, "DescribeTable", item{"TableName": s.cfg.Table})
	if err != nil {
		return nil, err
	}
	d := &description{}
	if err := json.Unmarshal(answer["Table"], d); err != nil {
		return nil, fmt.Errorf("cluster view: the description of table %s: %w", s.cfg.Table, err)
	}
	return d, nil
}

// create creates the table. That another member creates it at the same time is no error.
func (s *Store) create(ctx context.Context) error {
	asked := time.Now()
	_, err := s.call(ctx, "CreateTable", item{
		"TableName":            s.cfg.Table,
		"BillingMode":          "PAY_PER_REQUEST",
		"AttributeDefinitions": []any{item{"AttributeName": "cluster", "AttributeType": "S"}},
		"KeySchema":            []any{item{"AttributeName": "cluster", "KeyType": "HASH"}},
	})
	var e *Error
	switch {
	case err == nil:
		s.empty = asked
		s.log.Info("created the table of the cluster's view", slog.String("table", s.cfg.Table))
		return nil
	case hasCode(err, inUse):
		return nil
	case errors.As(err, &e) && e.Status < 500:
		return s.advise(err)
	}
	return err
}

// accept returns an error for a table that can't hold the view.
func (s *Store) accept(d *description) error {
	switch d.TableStatus {
	case "ACTIVE", "UPDATING":
	default:
		return fmt.Errorf("cluster view: table %s has the status %q", s.cfg.Table, d.TableStatus)
	}
	key := len(d.KeySchema) == 1 && d.KeySchema[0].AttributeName == "cluster" && d.KeySchema[0].KeyType == "HASH"
	typed := false
	for _, a := range d.AttributeDefinitions {
		typed = typed || a.AttributeName == "cluster" && a.AttributeType == "S"
	}
	if !key || !typed {
		return fmt.Errorf("cluster view: table %s has another key than the partition key cluster of type S without a sort key: configure the name of another table, which Kasoku creates",
			s.cfg.Table)
	}
	if len(d.Replicas) > 0 && d.MultiRegionConsistency != "STRONG" {
		s.log.Warn("the table of the cluster's view is a global table: all members must use the same region", slog.String("table", s.cfg.Table))
	}
	if d.TableArn != "" {
		s.arn.Store(&d.TableArn)
	}
	return nil
}

// advise adds to an error how to create the table and what to allow.
func (s *Store) advise(err error) error {
	return fmt.Errorf(`%w. To create the table, run

aws dynamodb create-table --table-name %s --billing-mode PAY_PER_REQUEST \
  --attribute-definitions AttributeName=cluster,AttributeType=S --key-schema AttributeName=cluster,KeyType=HASH

The origin's credentials need the IAM actions dynamodb:DescribeTable, dynamodb:GetItem and dynamodb:PutItem on %s, and dynamodb:CreateTable if Kasoku is to create it`,
		err, s.cfg.Table, s.resource())
}
