package store

import (
	"bytes"
	"sync"

	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// encoder makes the coded forms of what was stored, in a goroutine of its own that
// lives while there is something to do. Nobody waits for it: who asks meanwhile gets
// the plain form. tasks.mu is taken while mu is held.
type encoder struct {
	mu      sync.Mutex
	queue   []encoding
	running bool
}

// encoding is an object that waits for its forms.
type encoding struct {
	key     []byte
	object  *Object
	codings []string
	wraps   *jsonp.Filter // nil: nobody asks for callbacks
}

// maxQueued is how many objects wait for their forms. What comes beyond stays
// plain until it is stored again.
const maxQueued = 1024

// encodeSoon makes o's forms in the background.
func (s *Store) encodeSoon(key []byte, o *Object) {
	l := s.limits.Load()
	n := o.Body.Len()
	if len(l.Codings) == 0 || !o.Head.offered || o.OnDisk() || n < minEncoded || n > maxEncoded || o.encoded.Load() != nil {
		return
	}
	e := &s.encoder
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) >= maxQueued {
		s.stats.unencoded.Add(1)
		return
	}
	e.queue = append(e.queue, encoding{bytes.Clone(key), o, l.Codings, l.JSONP})
	if !e.running && s.tasks.begin() {
		e.running = true
		go s.encode()
	}
}

func (e *encoder) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running
}

// next returns what is to be encoded next; false if nothing is, and then the
// goroutine has to end.
func (e *encoder) next() (next encoding, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.running, e.queue = false, nil
		return encoding{}, false
	}
	next, e.queue = e.queue[0], e.queue[1:]
	return next, true
}

func (s *Store) encode() {
	defer s.tasks.wg.Done()
	writers := make(map[string]coding.Writer)
	for {
		e, ok := s.encoder.next()
		if !ok {
			return
		}
		if s.tasks.ctx.Err() == nil && s.isCurrent(e.object) {
			s.encodeOne(e, writers)
		}
	}
}

// encodeOne makes the forms of one object and lets the store know what it weighs
// now.
func (s *Store) encodeOne(e encoding, writers map[string]coding.Writer) {
	var list []EncodedVariant
	for _, name := range coding.Ordered(e.codings) {
		w := writers[name]
		if w == nil {
			var err error
			if w, err = coding.NewWriter(name); err != nil {
				continue // a name that is none of coding's
			}
			writers[name] = w
		}
		b := encodeBody(w, e.object.Body)
		if b == nil {
			continue
		}
		f := EncodedVariant{Coding: name, Lines: e.object.Head.encodedLines(), Body: s.Track(b)}
		if name == "gzip" {
			f.pack(e.wraps, e.object)
		}
		list = append(list, f)
	}
	s.stats.encoded.Add(1)
	if list == nil {
		return
	}
	e.object.encoded.Store(newEncodedVariants(list))
	s.replace(e.key, func(r *Resource) *Resource {
		for _, v := range r.variants {
			if v == e.object {
				return &Resource{variants: r.variants, markers: r.markers}
			}
		}
		return r
	})
}

// encodeBody returns the body in w's coding, nil if it is not worth it: it must be
// smaller by a tenth.
func encodeBody(w coding.Writer, body *Body) *Body {
	var b bytes.Buffer
	w.Reset(&b)
	err := body.WriteRange(w, 0, body.Len())
	if cerr := w.Close(); err != nil || cerr != nil || int64(b.Len()) > body.Len()*9/10 {
		return nil
	}
	return Gather([][]byte{b.Bytes()})
}

// pack makes the form for calls of wraps, if the object is one to be wrapped.
func (f *EncodedVariant) pack(wraps *jsonp.Filter, o *Object) {
	if wraps == nil {
		return
	}
	a := jsonp.Answer{Status: o.Head.Response.Status, ContentType: o.Head.Fields.Get("Content-Type"), Kind: o.Body.ScanJSONP(wraps).Kind}
	if wraps.Judge(&a) != jsonp.Wrapped {
		return
	}
	p, err := wraps.NewPacker()
	if err != nil {
		return // of its level, which is a constant
	}
	if o.Body.WriteRange(p, 0, o.Body.Len()) != nil {
		return
	}
	if k, err := p.Pack(); err == nil {
		f.Packed, f.filter = k, wraps
	}
}
