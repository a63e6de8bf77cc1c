// Command sink is a Fluentd server that discards records: it accepts the forward protocol in
// every mode, acknowledges, and counts. GET / at its second address returns the number of
// records since the last such request.
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/tinylib/msgp/msgp"
)

var (
	addr   = flag.String("addr", "127.0.0.1:24224", "where to take records")
	counts = flag.String("counts", "127.0.0.1:24220", "where to serve the number of records")
)

var taken atomic.Uint64

func main() {
	flag.Parse()
	http.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, taken.Swap(0)) })
	failed := make(chan error, 2)
	go func() { failed <- http.ListenAndServe(*counts, nil) }()
	go func() { failed <- serve() }()
	go func() {
		io.Copy(io.Discard, os.Stdin) // the input ends with the measurement
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, "sink:", <-failed)
	os.Exit(1)
}

func serve() error {
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			s := &stream{r: msgp.NewReaderSize(c, 256<<10), w: c}
			for {
				if err := s.message(); err != nil {
					if err != io.EOF {
						fmt.Fprintln(os.Stderr, "sink:", err)
					}
					return
				}
			}
		}()
	}
}

// stream reads the messages of a client.
type stream struct {
	r       *msgp.Reader
	w       io.Writer
	scratch []byte
}

// message reads one array, of any mode.
func (s *stream) message() error {
	n, err := s.r.ReadArrayHeader()
	if err != nil {
		return err
	}
	if err := s.r.Skip(); err != nil { // the tag
		return err
	}
	second, err := s.r.NextType()
	if err != nil {
		return err
	}
	used := uint32(3)
	entries := []byte(nil)
	switch second {
	case msgp.BinType, msgp.StrType:
		if used, entries, err = 2, nil, s.packed(); err == nil {
			entries = s.scratch
		}
	case msgp.ArrayType:
		used, err = 2, s.forward()
	default:
		taken.Add(1)
		if err = s.r.Skip(); err == nil {
			err = s.r.Skip()
		}
	}
	if err != nil {
		return err
	}
	chunk, packed := "", false
	if n > used {
		if chunk, packed, err = s.option(); err != nil {
			return err
		}
	}
	if err := count(entries, packed); err != nil || chunk == "" {
		return err
	}
	_, err = s.w.Write(msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(nil, 1), "ack"), chunk))
	return err
}

func (s *stream) packed() (err error) {
	if t, _ := s.r.NextType(); t == msgp.StrType {
		s.scratch, err = s.r.ReadStringAsBytes(s.scratch[:0])
		return err
	}
	s.scratch, err = s.r.ReadBytes(s.scratch[:0])
	return err
}

func (s *stream) forward() error {
	n, err := s.r.ReadArrayHeader()
	if err != nil {
		return err
	}
	taken.Add(uint64(n))
	for range n {
		if err := s.r.Skip(); err != nil {
			return err
		}
	}
	return nil
}

// option reads the last element, which may be nil.
func (s *stream) option() (chunk string, packed bool, err error) {
	if s.r.IsNil() {
		return "", false, s.r.ReadNil()
	}
	n, err := s.r.ReadMapHeader()
	for i := uint32(0); i < n && err == nil; i++ {
		var key string
		if key, err = s.r.ReadString(); err != nil {
			break
		}
		switch key {
		case "chunk":
			chunk, err = s.r.ReadString()
		case "compressed":
			var how string
			how, err = s.r.ReadString()
			packed = how == "gzip"
		default:
			err = s.r.Skip()
		}
	}
	return chunk, packed, err
}

// count counts the entries of a packed message.
func count(entries []byte, packed bool) error {
	if packed {
		z, err := gzip.NewReader(bytes.NewReader(entries))
		if err != nil {
			return err
		}
		if entries, err = io.ReadAll(z); err != nil {
			return err
		}
	}
	n := uint64(0)
	for len(entries) > 0 {
		rest, err := msgp.Skip(entries)
		if err != nil {
			return err
		}
		entries = rest
		n++
	}
	taken.Add(n)
	return nil
}
