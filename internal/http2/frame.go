package http2

import "encoding/binary"

// Sizes of frames. Frames of either side are at most of the size that needs no negotiation.
const (
	headerSize = 9
	// MaxFrame is the maximum length of a frame's payload.
	MaxFrame = 16 << 10
	// MaxBuffered is the size of a buffer that every frame fits into.
	MaxBuffered = headerSize + MaxFrame
)

// Types of frames.
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameGoAway
	frameWindow
	frameContinuation
	framePriorityUpdate = 16
)

// Flags of frames.
const (
	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32
)

// Parameters of SETTINGS.
const (
	settingTableSize     = 1
	settingPush          = 2
	settingStreams       = 3
	settingWindow        = 4
	settingFrameSize     = 5
	settingHeaderList    = 6
	settingNoPriorities  = 9
	defaultWindow        = 65535
	maxWindow            = 1<<31 - 1
	maxStreamID          = 1<<31 - 1
	largestFrameSettable = 1<<24 - 1
)

// Code is an error code. As an error it ends the connection.
type Code uint32

// Error codes.
const (
	NoError Code = iota
	ProtocolError
	InternalError
	FlowControlError
	SettingsTimeout
	StreamClosed
	FrameSizeError
	RefusedStream
	Cancel
	CompressionError
	ConnectError
	EnhanceYourCalm
)

var codeNames = [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"}

// Error implements error.
func (c Code) Error() string {
	if int(c) < len(codeNames) {
		return "http2: " + codeNames[c]
	}
	return "http2: unknown error code"
}

// preface is sent by clients before their first frame.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame is a frame that has arrived.
type frame struct {
	kind, flags uint8
	id          uint32
	length      int
	payload     []byte // not of DATA
}

func (f *frame) has(flag uint8) bool { return f.flags&flag != 0 }

// parseHeader reads the header of a frame.
func parseHeader(p []byte) frame {
	return frame{length: int(p[0])<<16 | int(p[1])<<8 | int(p[2]), kind: p[3], flags: p[4],
		id: binary.BigEndian.Uint32(p[5:]) & maxStreamID}
}

// unpad removes the padding of a payload.
func (f *frame) unpad() bool {
	if !f.has(flagPadded) {
		return true
	}
	if len(f.payload) == 0 || int(f.payload[0]) >= len(f.payload) {
		return false
	}
	f.payload = f.payload[1 : len(f.payload)-int(f.payload[0])]
	return true
}

// appendHeader appends the header of a frame.
func appendHeader(dst []byte, kind, flags uint8, id uint32, length int) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags,
		byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendUint32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }

func appendSetting(dst []byte, parameter uint16, v uint32) []byte {
	return appendUint32(binary.BigEndian.AppendUint16(dst, parameter), v)
}
