package wire

import "encoding/binary"

// Head returns the head of a binary reply with its extras and its key, or nil without an
// error if it is not complete. It is valid until Room. If ParseBinary finds a value in it,
// that is read after BeginBody.
func (d *Reader) Head() ([]byte, error) {
	have := d.buf[d.r:d.w]
	if len(have) > 0 && have[0] != magicReply {
		return nil, ErrGarbled
	}
	if len(have) < headSize {
		return nil, nil
	}
	key, extras, body := lengths(have)
	if key > MaxKey || extras+key > body {
		return nil, ErrGarbled
	}
	size := headSize + extras + key
	if len(have) < size {
		return nil, nil
	}
	d.r += size
	return have[:size:size], nil
}

func lengths(head []byte) (key, extras, body int) {
	return int(binary.BigEndian.Uint16(head[2:])), int(head[4]), int(binary.BigEndian.Uint32(head[8:]))
}

// BeginBody is Begin for a value without CRLF.
func (d *Reader) BeginBody(dst []byte, size int) {
	d.Begin(dst, size)
	d.bare = true
}

// Statuses of the binary protocol other than general refusals.
const (
	statusDone = iota
	statusNotFound
	statusExists
	statusTooLarge
	statusInvalid
	statusNotStored

	statusUnknownCommand = 0x81
	statusNoMemory       = 0x82
	statusInternal       = 0x84
	statusBusy           = 0x85
	statusNotNow         = 0x86
)

// ParseBinary parses the result of Reader.Head. In every case Size bytes follow: the value,
// or the text of an error. It returns false for a reply that the protocol does not have.
func (r *Reply) ParseBinary(head []byte) bool {
	*r = Reply{}
	if len(head) < headSize || head[0] != magicReply || head[5] != 0 {
		return false
	}
	key, extras, body := lengths(head)
	if len(head) != headSize+extras+key || extras+key > body {
		return false
	}
	r.opcode = head[1]
	r.Status = binary.BigEndian.Uint16(head[6:])
	r.Opaque = binary.BigEndian.Uint32(head[12:])
	r.CAS = binary.BigEndian.Uint64(head[16:])
	r.HasCAS = r.CAS != 0
	r.Size = int64(body - extras - key)
	r.Key = head[headSize+extras:]
	r.Kind = r.kind()
	if r.Kind != Value {
		return r.Kind != 0
	}
	if extras != 4 || CheckKey(r.Key) != nil {
		return false
	}
	r.Flags = binary.BigEndian.Uint32(head[headSize:])
	return true
}

// Answers reports whether a binary reply repeats the opcode of op.
func (r *Reply) Answers(op Op) bool { return r.opcode == opcodes[op] }

// kind returns the kind for opcode and status; 0 if the reply belongs to no command in use.
func (r *Reply) kind() Kind {
	gets, adds := r.opcode == opcodes[Get], r.opcode == opcodes[Add]
	switch r.Status {
	case statusDone:
		return r.done()
	case statusNotFound:
		if gets {
			return Miss
		}
		return NotFound
	case statusExists:
		if adds {
			return NotStored
		}
		return Exists
	case statusTooLarge:
		return TooLarge
	case statusNotStored:
		return NotStored
	case statusUnknownCommand:
		return Error
	case statusNoMemory, statusInternal, statusBusy, statusNotNow:
		return ServerError
	}
	return ClientError
}

// done returns the kind of a successful reply.
func (r *Reply) done() Kind {
	switch r.opcode {
	case opcodes[Get]:
		return Value
	case opcodes[Set], opcodes[Add]:
		return Stored
	case opcodes[Delete]:
		return Deleted
	case opcodes[Probe]:
		return NoOp
	case opcodes[Version]:
		return Release
	case opcodes[Login]:
		return Done
	case opcodes[Settings]:
		if len(r.Key) == 0 {
			return End
		}
		return Stat
	}
	return 0
}
