package accel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
)

// Warm implements admin.Warmer. An entry is a table and the key of an item, as in ParseKey, or
// GetItem, Query or Scan and a request.
func (s *Service) Warm(ctx context.Context, entry string) (admin.WarmOutcome, error) {
	kind, body, err := parseEntry(entry)
	if err != nil {
		return "", fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	if s.settings.Load().cfg.Namespaced {
		return admin.WarmUncacheable, nil
	}
	q, err := s.entryQuestion(ctx, kind, body)
	if err != nil {
		return "", err
	}
	outcome := admin.WarmUncacheable
	s.peerCall(ctx, q.encode(), func(c *call, q *peerRequest) {
		v := c.peerView(q)
		if v == nil {
			return
		}
		if _, ok := s.space.Fresh(c.key); ok {
			outcome = admin.WarmPresent
			return
		}
		var a cache.Answer
		a, err = s.space.Fill(ctx, c.key, v.tags, s.askFirst(v.t, c.key, q.body, v.use, v.fill()))
		if resp, refused := a.Extra.(*origin.Response); refused && err == nil {
			err = fmt.Errorf("the origin answers with %d %s: %s", resp.Status, http.StatusText(resp.Status), wire.ErrorType(resp.Body))
		}
		if a.Stored {
			outcome = admin.WarmFilled
		}
	})
	return outcome, err
}

// parseEntry returns the kind of key and the request of an entry.
func parseEntry(entry string) (kind byte, body []byte, err error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(entry), " ")
	if rest = strings.TrimSpace(rest); rest == "" {
		return 0, nil, errors.New("it needs a table and the key of an item, or GetItem, Query or Scan and a request")
	}
	kinds := map[string]byte{"GetItem": keyItem, "Query": keyQuery, "Scan": keyScan}
	body = []byte(rest)
	valid := wire.Valid(body, wire.MaxDepth) && wire.Kind(body) == '{'
	if kind = kinds[first]; kind != 0 && valid {
		if _, ok := wire.Lookup(body, "TableName"); ok {
			return kind, body, nil
		}
	}
	key, err := ParseKey(rest)
	if err != nil {
		return 0, nil, err
	}
	object, err := json.Marshal(key)
	if err != nil {
		return 0, nil, fmt.Errorf("the key is not JSON: %w", err)
	}
	return keyItem, fmt.Appendf(nil, `{"TableName":%s,"Key":%s}`, quotedText(first), object), nil
}

// entryQuestion returns the question for the request of an entry. The error wraps ErrInput if there
// is no such table or its items have no such keys.
func (s *Service) entryQuestion(ctx context.Context, kind byte, body []byte) (*peerRequest, error) {
	quoted, _ := wire.Lookup(body, "TableName")
	if wire.Kind(quoted) != '"' {
		return nil, fmt.Errorf("%w: TableName is not a text", admin.ErrInput)
	}
	name, ok := wire.AppendExact(nil, quoted)
	if !ok || len(name) == 0 {
		return nil, fmt.Errorf("%w: TableName is not the name of a table", admin.ErrInput)
	}
	t := s.table(ctx, name)
	switch {
	case t.missing:
		return nil, fmt.Errorf("%w: the origin of service %s has no table %s", admin.ErrInput, s.name, name)
	case !t.known:
		return nil, fmt.Errorf("the schema of table %s is not known", name)
	}
	if kind == keyItem {
		key, _ := wire.Lookup(body, "Key")
		if _, ok := t.keyOf(key); !ok {
			return nil, fmt.Errorf("%w: %s is not the key of an item of table %s: it needs exactly %s", admin.ErrInput, key, t.name, t.keyNames())
		}
	}
	return &peerRequest{origin: t.tags.origin, kind: kind, ttlAttribute: t.ttlAttribute, body: body}, nil
}

var _ admin.Warmer = (*Service)(nil)
