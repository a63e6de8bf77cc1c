package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Requester sends a request to NATS and returns the reply. *nats.Conn implements it.
type Requester interface {
	RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error)
}

// Errors of conditional writes: they had no effect.
var (
	errChanged = errors.New("the view was changed")
	errBusy    = errors.New("another condition is being evaluated")
)

// Codes of JetStream's errors.
const (
	codeNotAvailable    = 10008
	codeMessageNotFound = 10037
	codeNotForAccount   = 10039
	codeNameInUse       = 10058
	codeStreamNotFound  = 10059
	codeWrongSequence   = 10071
	codeNotEnabled      = 10076
	codeWrongConstant   = 10164 // the sequence can't be compared, because another message is in flight
)

// apiError is an error answer of JetStream.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// hasCode reports whether err is an error answer with the code.
func hasCode(err error, code int) bool {
	var e *apiError
	return errors.As(err, &e) && e.ErrCode == code
}

// needsServers is added to errors that a missing leader may have caused.
const needsServers = " (more than half of its servers have to be up, and all of them at the first start)"

// request sends a message and returns the reply.
func (s *Store) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	reply, err := s.cfg.Requester.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, s.errorf("no server answers: JetStream is off, or has no leader%s: %w", needsServers, err)
	case err != nil && ctx.Err() != nil:
		return nil, s.errorf("no answer from JetStream in time, perhaps because it has no leader%s: %w", needsServers, context.Cause(ctx))
	case err != nil:
		return nil, s.errorf("%w", err)
	}
	return reply, nil
}

// Limits of the wait for an answer of JetStream's API. Without a leader there is none. A
// stream is created in several steps.
const (
	callTimeout   = time.Second
	createTimeout = 5 * time.Second
)

// call sends a request to JetStream's API and parses the answer.
func (s *Store) call(ctx context.Context, timeout time.Duration, subject string, request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m := nats.NewMsg(subject)
	if request != nil {
		var err error
		if m.Data, err = json.Marshal(request); err != nil {
			return s.errorf("%w", err)
		}
	}
	reply, err := s.request(ctx, m)
	if err != nil {
		return err
	}
	return s.parse(reply.Data, answer)
}

// parse parses an answer of JetStream, which may be an error.
func (s *Store) parse(data []byte, answer any) error {
	var failure struct {
		Error *apiError `json:"error"`
	}
	err := json.Unmarshal(data, &failure)
	switch {
	case err != nil:
	case failure.Error != nil:
		return s.errorf("%w", failure.Error)
	default:
		err = json.Unmarshal(data, answer)
	}
	if err != nil {
		return s.errorf("the answer of JetStream: %w", err)
	}
	return nil
}

// publish writes a message on condition that the newest message with the view has the sequence
// number expect, 0 for none. It returns the number of the written message. errChanged and
// errBusy are the errors of a write that had no effect.
func (s *Store) publish(ctx context.Context, subject string, value []byte, expect uint64) (uint64, error) {
	m := nats.NewMsg(subject)
	m.Data = value
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(expect, 10))
	if subject != s.view {
		m.Header.Set(expectedSubjectHeader, s.view)
	}
	return s.append(ctx, m)
}

// expectedSubjectHeader names the subject of the sequence number in ExpectedLastSubjSeqHdr.
const expectedSubjectHeader = "Nats-Expected-Last-Subject-Sequence-Subject"

// append sends a message to the stream and returns its sequence number.
func (s *Store) append(ctx context.Context, m *nats.Msg) (uint64, error) {
	m.Header.Set(nats.ExpectedStreamHdr, s.stream)
	reply, err := s.request(ctx, m)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Stream string `json:"stream"`
		Seq    uint64 `json:"seq"`
	}
	err = s.parse(reply.Data, &ack)
	switch {
	case hasCode(err, codeWrongSequence):
		return 0, errChanged
	case hasCode(err, codeWrongConstant):
		return 0, errBusy
	case err != nil:
		return 0, err
	case ack.Stream != s.stream || ack.Seq == 0:
		return 0, s.errorf("the answer to a write is not one of its stream: %.200q", reply.Data)
	}
	return ack.Seq, nil
}

// get returns the newest message with the view, as one server has it: a server with a copy, or
// the leader of the stream. It may be an old one.
func (s *Store) get(ctx context.Context, leader bool) (stored, error) {
	if !leader {
		reply, err := s.request(ctx, nats.NewMsg("$JS.API.DIRECT.GET."+s.stream+"."+s.view))
		switch {
		case errors.Is(err, nats.ErrNoResponders): // servers other than the leader may not answer
		case err != nil:
			return stored{}, err
		case reply.Header.Get("Status") == "404":
			return stored{}, nil
		default:
			seq, err := strconv.ParseUint(reply.Header.Get("Nats-Sequence"), 10, 64)
			if err != nil {
				return stored{}, s.errorf("a read was answered with status %q and no message", reply.Header.Get("Status"))
			}
			return message(seq, reply.Header, reply.Data), nil
		}
	}
	var answer struct {
		Message struct {
			Seq    uint64 `json:"seq"`
			Header []byte `json:"hdrs"`
			Data   []byte `json:"data"`
		} `json:"message"`
	}
	err := s.call(ctx, callTimeout, "$JS.API.STREAM.MSG.GET."+s.stream, map[string]string{"last_by_subj": s.view}, &answer)
	if hasCode(err, codeMessageNotFound) {
		return stored{}, nil
	}
	if err != nil {
		return stored{}, err
	}
	var header nats.Header
	if len(answer.Message.Header) > 0 {
		if header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return stored{}, s.errorf("the headers of the view: %w", err)
		}
	}
	return message(answer.Message.Seq, header, answer.Message.Data), nil
}

// message returns a message of the view's key. One with an operation marks a deleted value.
func message(seq uint64, header nats.Header, data []byte) stored {
	if header.Get("KV-Operation") != "" || header.Get("Nats-Marker-Reason") != "" {
		return stored{seq: seq}
	}
	if data == nil {
		data = []byte{}
	}
	return stored{seq: seq, value: data}
}
