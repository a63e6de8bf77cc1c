package dax

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// A connection begins with five values, which have no reply: a magic text, a number of
// layers, a session, a map with the client's software, and a mode.
const (
	preambleItems = 5
	preambleBytes = 2 << 10
	agentBytes    = 1 << 10
)

// magic is the encoding of the first value.
var magic = cbor.AppendText(nil, "J7yne5G")

// wrongMagic reports whether the first bytes of a connection belong to another protocol.
func wrongMagic(b []byte) bool {
	n := min(len(b), len(magic))
	return !bytes.Equal(b[:n], magic[:n])
}

// readPreamble decodes a complete preamble. The agent aliases b; it is empty if the client
// sent none. framed reports whether there is a layer between the connection and the replies:
// replies are then sent in frames, requests are not.
func readPreamble(b []byte) (agent []byte, framed bool, err error) {
	r := cbor.NewReader(b)
	r.Text()
	layers := r.Int()
	if layers != 0 && layers != 1 {
		r.Fail("%d layers", layers)
	}
	r.Skip() // the session: bytes, text or null
	n := r.Map()
	for r.More(&n) {
		if string(r.Text()) != "UserAgent" {
			r.Skip()
		} else if agent = r.Text(); len(agent) > agentBytes {
			r.Fail("a user agent of %d bytes", len(agent))
		}
	}
	r.Int()
	return agent, layers == 1, r.Close()
}
