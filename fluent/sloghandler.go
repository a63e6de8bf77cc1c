package fluent

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"
)

// poster is the interface of the slog handler and the writer to a Logger. The zero time
// means now.
type poster interface {
	PostWithTime(tag string, t time.Time, record any) error
}

// HandlerOptions are options for NewHandler. The zero HandlerOptions has the defaults.
type HandlerOptions struct {
	// Level is the minimum level that is logged; slog.LevelInfo if nil. A slog.LevelVar can
	// be changed at any time.
	Level slog.Leveler

	// AddSource adds the field "source": function, file and line of the log call.
	AddSource bool

	// ReplaceAttr, if not nil, is called for each attribute that isn't a group, including
	// "level", "msg" and the fields added by the options, with the names of the enclosing
	// groups. Its result is logged instead; the zero Attr is omitted. It must be safe for
	// concurrent use, and must not keep or change groups. It is called only once for
	// attributes of Logger.With.
	ReplaceAttr func(groups []string, a slog.Attr) slog.Attr

	// TimeKey is the name of a field for the time of the log call. Without it the time is
	// only sent as the time of the event.
	TimeKey string
}

// Handler is a slog.Handler that posts each log record to a Logger. The record has the
// fields "level" and "msg", as named by slog, and the attributes; a group is a nested map.
// Attributes of Logger.With and names of Logger.WithGroup are encoded once, not at each
// call.
//
// Durations are integers of nanoseconds and times text, as in Record; other values are
// encoded as by Post. A value that can't be encoded is replaced by the text of the error,
// because a log line with a missing value is better than none.
type Handler struct {
	to       poster
	tag      string
	opts     HandlerOptions
	minLevel slog.Leveler

	// levels are the attributes known before the call: of the record, then of each open
	// group. They are shared between handlers and immutable.
	levels []level
	groups []string // names of levels, except the first
}

// level is a group, or for the first one the record itself.
type level struct {
	name  string
	pairs []byte
	n     int
}

var _ slog.Handler = (*Handler)(nil)

// NewHandler returns a slog.Handler that posts to l under tag. Options may be nil.
//
// slog offers no way to report a refused record to the program; it is counted in the
// Logger's Stats. The caller must close the Logger after the last log call.
func NewHandler(l *Logger, tag string, opts *HandlerOptions) *Handler {
	return newHandler(l, tag, opts)
}

func newHandler(to poster, tag string, opts *HandlerOptions) *Handler {
	h := &Handler{to: to, tag: tag, minLevel: slog.LevelInfo, levels: make([]level, 1)}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.Level != nil {
		h.minLevel = h.opts.Level
	}
	return h
}

// Enabled reports whether records of level l are logged.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.minLevel.Level() }

// WithAttrs returns a handler that adds attrs to each record, inside the open groups.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	var r Record
	for _, a := range attrs {
		h.addAttr(&r, h.groups, a)
	}
	c := *h
	c.levels = slices.Clone(h.levels)
	last := &c.levels[len(c.levels)-1]
	last.pairs = slices.Concat(last.pairs, r.pairs())
	last.n += r.n
	return &c
}

// WithGroup returns a handler that puts all further attributes into a group; h itself if the
// name is empty.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.levels = append(slices.Clip(h.levels), level{name: name})
	c.groups = append(slices.Clip(h.groups), name)
	return &c
}

// records holds Records for Handle.
var records = sync.Pool{New: func() any { return new(Record) }}

// maxPooledRecord is the maximum capacity of a buffer kept for the next call.
const maxPooledRecord = 64 << 10

// Handle posts a log record and returns the error of Logger.PostWithTime. It ignores the
// context, as slog recommends: the end of a request's context does not prevent its last
// lines from being logged.
func (h *Handler) Handle(_ context.Context, s slog.Record) error {
	r := records.Get().(*Record).Reset()
	h.addFixed(r, &s)
	for i := range h.levels {
		l := &h.levels[i]
		if i > 0 {
			r.Begin(l.name)
		}
		r.addPairs(l.pairs, l.n)
	}
	s.Attrs(func(a slog.Attr) bool {
		h.addAttr(r, h.groups, a)
		return true
	})
	for range h.groups {
		r.endUnlessEmpty()
	}
	err := h.to.PostWithTime(h.tag, s.Time, r)
	if cap(r.buf) <= maxPooledRecord {
		records.Put(r)
	}
	return err
}

// addFixed adds the fields that every record has.
func (h *Handler) addFixed(r *Record, s *slog.Record) {
	if h.opts.TimeKey != "" && !s.Time.IsZero() {
		h.addAttr(r, nil, slog.Time(h.opts.TimeKey, s.Time))
	}
	if h.opts.ReplaceAttr != nil {
		h.addAttr(r, nil, slog.Any(slog.LevelKey, s.Level))
	} else {
		r.Str(slog.LevelKey, s.Level.String())
	}
	if h.opts.AddSource {
		if src := callOf(s); src != nil {
			h.addAttr(r, nil, slog.Any(slog.SourceKey, src))
		}
	}
	h.addAttr(r, nil, slog.String(slog.MessageKey, s.Message))
}

// callOf returns the place of the call that made s, or nil if s has none, as slog.Record.Source
// does since Go 1.25.
func callOf(s *slog.Record) *slog.Source {
	if s.PC == 0 {
		return nil
	}
	frame, _ := runtime.CallersFrames([]uintptr{s.PC}).Next()
	return &slog.Source{Function: frame.Function, File: frame.File, Line: frame.Line}
}

// addAttr adds an attribute. groups are the names of the enclosing groups, maintained only
// for ReplaceAttr.
func (h *Handler) addAttr(r *Record, groups []string, a slog.Attr) {
	a.Value = a.Value.Resolve()
	if h.opts.ReplaceAttr != nil && a.Value.Kind() != slog.KindGroup {
		a = h.opts.ReplaceAttr(groups, a)
		a.Value = a.Value.Resolve()
	}
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		r.Str(a.Key, v.String())
	case slog.KindInt64:
		r.Int64(a.Key, v.Int64())
	case slog.KindUint64:
		r.Uint(a.Key, v.Uint64())
	case slog.KindFloat64:
		r.Float(a.Key, v.Float64())
	case slog.KindBool:
		r.Bool(a.Key, v.Bool())
	case slog.KindDuration:
		r.Duration(a.Key, v.Duration())
	case slog.KindTime:
		r.Time(a.Key, v.Time())
	case slog.KindGroup:
		h.addGroup(r, groups, a.Key, v.Group())
	default:
		any := v.Any()
		if any == nil && a.Key == "" {
			return // the zero Attr
		}
		if err := r.any(a.Key, any); err != nil {
			r.Str(a.Key, "!ERROR: "+err.Error())
		}
	}
}

// addGroup adds a group's attributes: to the enclosing map if it has no name, and nothing if
// it has no attributes.
func (h *Handler) addGroup(r *Record, groups []string, name string, attrs []slog.Attr) {
	if len(attrs) == 0 {
		return
	}
	if name != "" {
		r.Begin(name)
		defer r.endUnlessEmpty()
		if h.opts.ReplaceAttr != nil {
			groups = append(slices.Clip(groups), name)
		}
	}
	for _, a := range attrs {
		h.addAttr(r, groups, a)
	}
}
