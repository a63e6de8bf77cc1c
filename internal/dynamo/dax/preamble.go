package dax

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// A connection begins with five values, which nobody answers: a magic text, a number of
// layers, a session, a map that tells the client's software, and a mode.
const (
	preambleItems = 5
	preambleBytes = 2 << 10
	agentBytes    = 1 << 10
)

// magic is the first value, as its bytes are.
var magic = cbor.AppendText(nil, "J7yne5G")

// wrongMagic tells from the first bytes of a connection that it speaks something else.
func wrongMagic(b []byte) bool {
	n := min(len(b), len(magic))
	return !bytes.Equal(b[:n], magic[:n])
}

// readPreamble takes a whole preamble apart. The agent aliases b; it is empty if the
// client does not say. framed tells whether there is a layer between the connection and
// the replies: they come in frames then, and requests as ever.
func readPreamble(b []byte) (agent []byte, framed bool, err error) {
	r := cbor.NewReader(b)
	r.Text()
	layers := r.Int()
	if layers != 0 && layers != 1 {
		r.Fail("%d layers", layers)
	}
	r.Skip() // the session: bytes, a text or null
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
