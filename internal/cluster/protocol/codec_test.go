package protocol

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// sampleView has every field of a view.
func sampleView() *View {
	return &View{
		Rev: 300, Creator: 0xa1, Epoch: 1 << 40, Clean: true,
		Members: []Member{
			{
				Instance: 0xa1, Node: "n1", Address: "10.0.0.1:7400", Zone: "a", Joined: 1_700_000_000_000,
				DAX:      map[string][]string{"dynamo": {"10.0.0.1:8111", "10.0.0.1:9111"}, "other": {}},
				Services: map[string]string{"dynamo": "d1", "web": "d2"},
			},
			{Instance: 0xa2, Node: "n2", Joining: true, Joined: -1},
		},
		Suspended: []Suspension{{0xa1, 0xa2}, {0xa2, 0xa1}},
		Away:      []Away{{"n3", 1_700_000_000_001, "left"}},
	}
}

func sampleBook() *Book {
	return &Book{
		Cold:        3 * Second,
		Writes:      []HeldWrite{{0xa1, 7, []uint64{1, math.MaxUint64}, true, []uint64{}}, {0xa2, 1 << 50, []uint64{}, false, []uint64{9}}},
		Quarantines: []Quarantine{{[]uint64{5}, Second}, {[]uint64{}, 1}},
	}
}

// samples has messages of every kind.
func samples() map[string]*Message {
	return map[string]*Message{
		"inv":     {Kind: Inv, Epoch: 9, Seq: 300, Tags: []uint64{1, 2}, Payload: []byte("purge")},
		"unsure":  {Kind: Inv, Epoch: 9, Seq: 300, Tags: []uint64{1}, Unsure: []uint64{2, 3}},
		"more":    {Kind: Inv, Epoch: 9, Seq: 300, Round: 2, Tags: []uint64{math.MaxUint64}},
		"empty":   {Kind: Inv, Epoch: 9, Seq: 300, Tags: []uint64{}, Payload: []byte{}},
		"ack":     {Kind: Ack, Epoch: math.MaxUint64, Seq: math.MaxUint64, Round: 1},
		"val":     {Kind: Val, Epoch: 9, Seq: 1},
		"unknown": {Kind: Unknown, Epoch: 9, Seq: 1, Tags: []uint64{3}},
		"done":    {Kind: Done, Epoch: 9, Seq: 1},
		"open":    {Kind: Open, Epoch: 9, Seq: 900, Seqs: []uint64{0, 1, 500, math.MaxUint64}},
		"none":    {Kind: Open, Epoch: 9, Seq: 900, Seqs: []uint64{}},
		"probe":   {Kind: Probe},
		"probed":  {Kind: Probed, Epoch: 9, Serving: true},
		"join":    {Kind: Join, Epoch: 9, View: sampleView()},
		"books":   {Kind: Books, Epoch: 9, Serving: true, Books: sampleBook()},
		"newer":   {Kind: Newer, Epoch: 9, View: sampleView()},
	}
}

// frameOf returns a frame of messages.
func frameOf(from Instance, messages ...*Message) []byte {
	frame := AppendHeader(nil, from)
	for _, m := range messages {
		frame = AppendMessage(frame, m)
	}
	return frame
}

// parseAll returns copies of the messages of a frame.
func parseAll(frame []byte) (out []*Message, err error) {
	err = Parse(frame, func(_ Instance, m *Message) {
		c := *m
		if m.Seqs != nil {
			c.Seqs = append([]uint64{}, m.Seqs...)
		}
		out = append(out, &c)
	})
	return out, err
}

func TestRoundTrip(t *testing.T) {
	kinds := map[Kind]bool{}
	var all []*Message
	for name, m := range samples() {
		kinds[m.Kind] = true
		all = append(all, m)
		frame := frameOf(77, m)
		calls := 0
		err := Parse(frame, func(from Instance, got *Message) {
			calls++
			if from != 77 || !reflect.DeepEqual(got, m) {
				t.Errorf("%s: got %+v of %d; want %+v of 77", name, got, from, m)
			}
		})
		if err != nil || calls != 1 {
			t.Errorf("%s: %d messages, error %v; want 1", name, calls, err)
		}
	}
	for k := Inv; k <= Newer; k++ {
		if !kinds[k] {
			t.Errorf("no sample of kind %d", k)
		}
	}
	// A message must not have anything of the one before it in the frame.
	for range 3 {
		all = append(all, all...)
	}
	got, err := parseAll(frameOf(1, all...))
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("a frame of %d messages: got %d, error %v, or others", len(all), len(got), err)
	}
}

// TestGoldenFrames fails if the format has changed: members of one cluster may run versions
// that follow each other, so formatVersion must change as well.
func TestGoldenFrames(t *testing.T) {
	golden := map[string]string{
		"inv":     "0000001c01" + "0c09ac02" + "02" + "0000000000000001" + "0000000000000002" + "05" + "7075726765",
		"more":    "0000000f01" + "0509ac02" + "02" + "01" + "ffffffffffffffff",
		"ack":     "0000001702" + "01" + "ffffffffffffffffff01" + "ffffffffffffffffff01" + "01",
		"val":     "0000000403" + "000901",
		"unknown": "0000000d04" + "040901" + "01" + "0000000000000003",
		"open":    "0000001406" + "10098407" + "04" + "00" + "01" + "f303" + "8bfcffffffffffffff01",
		"probe":   "0000000407" + "000000",
		"unsure":  "0000002001" + "840109ac02" + "01" + "0000000000000001" + "02" + "0000000000000002" + "0000000000000003",
		"books": "000000520a" + "42" + "09" + "00" + "80bcc1960b" +
			"02" + "00000000000000a1" + "07" + "02" + "0000000000000001" + "ffffffffffffffff" + "01" + "00" +
			"00000000000000a2" + "8080808080808002" + "00" + "00" + "01" + "0000000000000009" +
			"02" + "8094ebdc03" + "01" + "0000000000000005" + "01" + "00",
		"newer": "000000bf0b" + "20" + "09" + "00" + "ac02" + "00000000000000a1" + "808080808020" + "01" + "02" +
			"00000060" + "00000000000000a1" + "026e31" + "0d31302e302e302e313a37343030" + "0161" + "00" + "80a0abfef962" +
			"02" + "0664796e616d6f" + "02" + "0d31302e302e302e313a38313131" + "0d31302e302e302e313a39313131" + "056f74686572" + "00" +
			"02" + "0664796e616d6f" + "026431" + "03776562" + "026432" +
			"00000011" + "00000000000000a2" + "026e32" + "00" + "00" + "01" + "01" + "00" + "00" +
			"02" + "00000000000000a1" + "00000000000000a2" + "00000000000000a2" + "00000000000000a1" +
			"01" + "026e33" + "82a0abfef962" + "046c656674",
	}
	for name, m := range samples() {
		want, ok := golden[name]
		if !ok {
			continue
		}
		delete(golden, name)
		if got := hex.EncodeToString(AppendMessage(nil, m)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	if len(golden) > 0 {
		t.Errorf("no samples for %v", golden)
	}
	if got := hex.EncodeToString(AppendHeader(nil, 0xa1)); got != "0100000000000000a1" {
		t.Errorf("header %s", got)
	}
}

// TestLaterVersions reads messages as a later version may send them.
func TestLaterVersions(t *testing.T) {
	val := &Message{Kind: Val, Epoch: 9, Seq: 1}
	further := AppendMessage(nil, &Message{Kind: Inv, Epoch: 9, Seq: 2, Tags: []uint64{4}})
	further = append(further, "further parts"...)
	further[5] |= 0x80 // a flag of two bytes
	further = append(further[:6], append([]byte{2}, further[6:]...)...)
	binary.BigEndian.PutUint32(further, uint32(len(further)-4))
	frame := AppendHeader(nil, 1)
	frame = append(frame, 0, 0, 0, 3, byte(Newer)+1, 0xff, 0xff)
	frame = append(frame, 0, 0, 0, 1, 0)
	frame = append(frame, further...)
	frame = AppendMessage(frame, val)
	got, err := parseAll(frame)
	want := []*Message{{Kind: Inv, Epoch: 9, Seq: 2, Tags: []uint64{4}}, val}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestMalformedFrames(t *testing.T) {
	body := func(m *Message, change func(b []byte) []byte) []byte {
		b := change(AppendMessage(nil, m))
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		return append(AppendHeader(nil, 1), b...)
	}
	many := func(flag byte, count ...byte) []byte {
		return body(&Message{Kind: Inv}, func(b []byte) []byte {
			b[5] = flag
			return append(append(b, count...), make([]byte, 64)...)
		})
	}
	twice := sampleView()
	twice.Members[1].Instance = twice.Members[0].Instance
	nameless := sampleView()
	nameless.Members[1].Instance = 0
	full := &View{Members: make([]Member, maxMembers+1)}
	for i := range full.Members {
		full.Members[i].Instance = Instance(i + 1)
	}
	tests := map[string][]byte{
		"empty":                 {},
		"another version":       append([]byte{2}, frameOf(1)[1:]...),
		"half a header":         frameOf(1)[:8],
		"no sender":             frameOf(0, &Message{Kind: Probe}),
		"half a length":         append(frameOf(1), 0, 0, 0),
		"a message without end": append(frameOf(1), 0, 0, 0, 9, 1),
		"an empty message":      append(frameOf(1), 0, 0, 0, 0),
		"a huge message":        append(frameOf(1), 0xff, 0xff, 0xff, 0xff, 1),
		"a huge number": body(&Message{Kind: Ack}, func(b []byte) []byte {
			return append(b[:5], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)
		}),
		"more tags than bytes":  many(flagTags, 9),
		"huge number of tags":   many(flagTags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"payload too long":      many(flagPayload, 65),
		"seqs too long":         many(flagSeqs, 65),
		"seqs overflow":         frameOf(1, &Message{Kind: Open, Seqs: []uint64{2, 1}}),
		"seqs repeat":           frameOf(1, &Message{Kind: Open, Seqs: []uint64{2, 2}}),
		"two members":           frameOf(1, &Message{Kind: Newer, View: twice}),
		"member without number": frameOf(1, &Message{Kind: Newer, View: nameless}),
		"too many members":      frameOf(1, &Message{Kind: Newer, View: full}),
		"long name":             frameOf(1, &Message{Kind: Newer, View: &View{Away: []Away{{Node: strings.Repeat("x", maxText+1)}}}}),
		"no one suspended":      frameOf(1, &Message{Kind: Newer, View: &View{Suspended: []Suspension{{By: 1}}}}),
		"write without owner":   frameOf(1, &Message{Kind: Books, Books: &Book{Writes: []HeldWrite{{Seq: 1}}}}),
		"long quarantine":       frameOf(1, &Message{Kind: Books, Books: &Book{Quarantines: []Quarantine{{Left: maxSpan + 1}}}}),
		"too long":              frameOf(1, &Message{Kind: Inv, Payload: make([]byte, MaxFrame)}),
	}
	for name, frame := range tests {
		if got, err := parseAll(frame); err == nil {
			t.Errorf("%s: no error, got %+v", name, got)
		}
	}
	// No prefix of a frame is read as something else, and none is read past its end.
	for name, m := range samples() {
		frame := frameOf(1, m)
		for n := range len(frame) - 1 {
			got, err := parseAll(frame[:n:n])
			if len(got) > 0 || err == nil && n != len(frameOf(1)) {
				t.Errorf("%s: got %+v, %v of the first %d bytes", name, got, err, n)
			}
		}
	}
}

// TestMessagesAreCopies overwrites a frame that was read.
func TestMessagesAreCopies(t *testing.T) {
	for name, m := range samples() {
		frame := frameOf(1, m)
		got, err := parseAll(frame)
		for i := range frame {
			frame[i] = 0xee
		}
		if err != nil || !reflect.DeepEqual(got, []*Message{m}) {
			t.Errorf("%s: got %+v, %v after the frame was overwritten; want %+v", name, got, err, m)
		}
	}
}

func TestCodecAllocations(t *testing.T) {
	if race.Enabled {
		return // the race detector allocates
	}
	var messages []*Message
	for _, name := range []string{"inv", "more", "ack", "val", "done", "open"} {
		messages = append(messages, samples()[name])
	}
	buffer := make([]byte, 0, 1<<12)
	var frame []byte
	if n := testing.AllocsPerRun(100, func() {
		frame = AppendHeader(buffer[:0], 1)
		for _, m := range messages {
			frame = AppendMessage(frame, m)
		}
	}); n > 0 {
		t.Errorf("writing a frame has %v allocations; want none", n)
	}
	// The message, its numbers, the tags of two, and a payload.
	if n := testing.AllocsPerRun(100, func() {
		if err := Parse(frame, func(Instance, *Message) {}); err != nil {
			t.Error(err)
		}
	}); n > 5 {
		t.Errorf("reading a frame has %v allocations; want at most 5", n)
	}
	ack := frameOf(1, samples()["ack"], samples()["val"])
	if n := testing.AllocsPerRun(100, func() { _ = Parse(ack, func(Instance, *Message) {}) }); n > 1 {
		t.Errorf("reading acknowledgements has %v allocations; want at most 1", n)
	}
}

// FuzzParse writes again what was read: the result must be read as the same.
func FuzzParse(f *testing.F) {
	for _, m := range samples() {
		f.Add(frameOf(1, m, m))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		first, _ := parseAll(frame)
		again := frameOf(1, first...)
		second, err := parseAll(again)
		if len(again) > MaxFrame {
			return // varints of the frame were shorter than they may be
		}
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("read %+v, then %+v, %v", first, second, err)
		}
	})
}
