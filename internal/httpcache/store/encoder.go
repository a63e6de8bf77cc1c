package store

import (
	"bytes"
	"sync"

	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// encoder makes the encoded variants of stored objects, in a goroutine that runs while the
// queue is not empty. No request waits for it: until a variant is made, clients get the
// plain body. tasks.mu is taken while mu is held.
type encoder struct {
	mu      sync.Mutex
	queue   []encoding
	running bool
}

// encoding is an object that waits for its variants.
type encoding struct {
	key     []byte
	object  *Object
	codings []string
	wraps   *jsonp.Filter // nil: callbacks are not wrapped
}

// maxQueued is the maximum number of objects that wait. Further ones stay plain until they
// are stored again.
const maxQueued = 1024

// encodeSoon queues o for encoding in the background.
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

// next returns the next object to encode. With false, the queue is empty and the goroutine
// must end.
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

// encodeOne makes the variants of one object and updates its weight in the store.
func (s *Store) encodeOne(e encoding, writers map[string]coding.Writer) {
	var list []EncodedVariant
	for _, name := range coding.Ordered(e.codings) {
		w := writers[name]
		if w == nil {
			var err error
			if w, err = coding.NewWriter(name); err != nil {
				continue // not a name of package coding
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

// encodeBody returns the body in w's coding, nil if that saves less than a tenth.
func encodeBody(w coding.Writer, body *Body) *Body {
	var b bytes.Buffer
	w.Reset(&b)
	err := body.WriteRange(w, 0, body.Len())
	if cerr := w.Close(); err != nil || cerr != nil || int64(b.Len()) > body.Len()*9/10 {
		return nil
	}
	return Gather([][]byte{b.Bytes()})
}

// pack makes the variant that is wrapped for callbacks by wraps, if the object is to be
// wrapped.
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
		return // an error of its level, which is a constant
	}
	if o.Body.WriteRange(p, 0, o.Body.Len()) != nil {
		return
	}
	if k, err := p.Pack(); err == nil {
		f.Packed, f.filter = k, wraps
	}
}
