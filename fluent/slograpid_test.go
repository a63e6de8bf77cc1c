package fluent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawAttr makes an attribute, maybe a group, a LogValuer or the zero Attr.
func drawAttr(r *rapid.T, depth int) slog.Attr {
	key := rapid.SampledFrom([]string{"a", "b", "c", "drop", "msg"}).Draw(r, "key")
	kinds := 10
	if depth == 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(r, "kind") {
	case 0:
		return slog.Attr{}
	case 1:
		return slog.String(key, rapid.String().Draw(r, "string"))
	case 2:
		return slog.Int(key, rapid.IntRange(-1000, 1000).Draw(r, "int"))
	case 3:
		return slog.Bool(key, rapid.Bool().Draw(r, "bool"))
	case 4:
		return slog.Time(key, time.Unix(rapid.Int64Range(0, 1<<33).Draw(r, "time"), 5).UTC())
	case 5:
		return slog.Duration(key, time.Duration(rapid.Int32().Draw(r, "duration")))
	case 6:
		return slog.Any(key, rapid.SampledFrom([]any{nil, errors.New("bad"), []string{"x"}, upper("up"), login{name: "ada"}}).Draw(r, "any"))
	case 7:
		return slog.Float64(key, float64(rapid.IntRange(-100, 100).Draw(r, "float"))/4)
	}
	if rapid.Bool().Draw(r, "inline") {
		key = ""
	}
	attrs := drawAttrs(r, depth-1)
	if len(attrs) > 0 {
		// One attribute must remain: slog would otherwise include later attributes in a
		// group of which it has omitted everything.
		attrs = append(attrs, slog.Int("kept", 1))
	}
	return slog.Attr{Key: key, Value: slog.GroupValue(attrs...)}
}

func drawAttrs(r *rapid.T, depth int) []slog.Attr {
	var list []slog.Attr
	for range rapid.IntRange(0, 4).Draw(r, "attrs") {
		list = append(list, drawAttr(r, depth))
	}
	return list
}

// prune removes empty groups, which slog leaves if a group's attributes were passed to
// WithAttrs and all omitted.
func prune(m map[string]any) {
	for k, v := range m {
		if in, ok := v.(map[string]any); ok {
			if prune(in); len(in) == 0 {
				delete(m, k)
			}
		}
	}
}

// TestHandlerLikeJSONHandler makes the same calls of both handlers and compares the fields.
func TestHandlerLikeJSONHandler(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var replace func([]string, slog.Attr) slog.Attr
		if rapid.Bool().Draw(r, "replace") {
			replace = func(groups []string, a slog.Attr) slog.Attr {
				switch a.Key {
				case "drop":
					return slog.Attr{}
				case "a":
					a.Key = strings.Join(groups, ".") + ".a"
				case "b":
					a.Value = slog.GroupValue(slog.Any("was", a.Value), slog.Int("drop", 1))
				}
				return a
			}
		}
		var text bytes.Buffer
		got := &keeper{t: t}
		theirs := slog.Handler(slog.NewJSONHandler(&text, &slog.HandlerOptions{ReplaceAttr: replace}))
		ours := slog.Handler(newHandler(got, "app", &HandlerOptions{ReplaceAttr: replace, TimeKey: slog.TimeKey}))
		for range rapid.IntRange(0, 4).Draw(r, "steps") {
			if rapid.Bool().Draw(r, "group") {
				name := rapid.SampledFrom([]string{"g", "h"}).Draw(r, "name")
				theirs, ours = theirs.WithGroup(name), ours.WithGroup(name)
			} else {
				attrs := drawAttrs(r, 2)
				theirs, ours = theirs.WithAttrs(attrs), ours.WithAttrs(attrs)
			}
		}
		record := slog.NewRecord(time.Unix(1700000000, 0).UTC(), slog.LevelInfo, rapid.String().Draw(r, "msg"), 0)
		record.AddAttrs(drawAttrs(r, 3)...)
		if err := errors.Join(theirs.Handle(context.Background(), record), ours.Handle(context.Background(), record)); err != nil {
			r.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text.Bytes(), &fields); err != nil {
			r.Fatalf("%s: %v", text.Bytes(), err)
		}
		prune(fields)
		want, err := json.Marshal(fields)
		if err != nil {
			r.Fatal(err)
		}
		if ours := got.take()[0]; ours != string(want) {
			r.Fatalf("got  %s\nwant %s", ours, want)
		}
	})
}
