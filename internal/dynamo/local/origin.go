// Package local makes an embedded store the origin of a service, or several, one for each
// namespace.
package local

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// Origin sends requests to a store in this process.
type Origin struct{ *embedded.Store }

// Do executes a request. The error of a closed store is an *origin.Fault. A started request
// is completed even if the client has disconnected.
func (o Origin) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	begun := time.Now()
	a, err := o.Store.Do(&embedded.Request{
		Method: r.Method, Path: r.Path, Body: r.Body, Buf: r.Buf,
		Target: r.Header.Get("X-Amz-Target"), ContentType: r.Header.Get("Content-Type"), Host: r.Header.Get("Host"), Own: r.Own,
	})
	if err != nil {
		return nil, &origin.Fault{Origin: "embedded", Kind: origin.Unprepared, Err: err}
	}
	if a.Reset {
		return nil, &origin.Fault{Origin: "embedded", Kind: origin.Reset, Reached: a.Uncertain, Hangup: true, Attempts: 1, Err: errReset}
	}
	return response(&a, time.Since(begun)), nil
}

// errReset is the cause of a fault that the store was asked for.
var errReset = errors.New("the plan of faults asks for a reset")

// replyMemory holds all parts of a response except its body, in one allocation.
type replyMemory struct {
	response origin.Response
	fields   [2]http1.Field
	crc      [10]byte
}

var (
	nameType = []byte("Content-Type")
	nameCRC  = []byte("X-Amz-Crc32")
)

// response returns the answer of a store as that of an origin.
func response(a *embedded.Answer, took time.Duration) *origin.Response {
	m := &replyMemory{}
	fields := m.fields[:0]
	if a.ContentType != nil {
		fields = append(fields, http1.Field{Name: nameType, Value: a.ContentType})
	}
	if a.HasChecksum {
		fields = append(fields, http1.Field{Name: nameCRC, Value: strconv.AppendUint(m.crc[:0], uint64(a.Checksum), 10)})
	}
	class := origin.Good
	switch {
	case a.Status >= http.StatusInternalServerError || a.Uncertain:
		class = origin.Failed
	case a.Status >= http.StatusBadRequest:
		class = origin.Refused
	}
	m.response = origin.Response{Status: a.Status, Header: fields, Body: a.Body, Class: class, Attempts: 1, Duration: took}
	return &m.response
}

// State returns the numbers of all requests and of those in progress.
func (o Origin) State() origin.State {
	all, inFlight := o.Requests()
	return origin.State{Breaker: "disabled", InFlight: int(inFlight), Requests: uint64(all), Attempts: uint64(all)}
}
