package config

import "fmt"

// StreamMode is whether streams are followed: off, on or auto.
type StreamMode string

func (m *StreamMode) set(text string) error {
	switch text {
	case "off", "false":
		*m = "off"
	case "on", "true":
		*m = "on"
	case "auto":
		*m = "auto"
	default:
		return fmt.Errorf("must be off, on or auto")
	}
	return nil
}

func (m StreamMode) String() string { return string(m) }

// streams checks the settings of streams.
func (k *checker) streams(path string, d *DynamoDB) {
	enabling := func(path string, mode StreamMode, enable bool) {
		if mode == "on" && d.Origin.Embedded() {
			k.failf(path+".streams", "has no effect: all writes to an embedded store pass through this process")
		}
		if enable && mode != "on" {
			k.failf(path+".streams_enable", "has no effect: streams is not on")
		}
	}
	enabling(path, d.Streams, d.StreamsEnable)
	for i := range d.Tables {
		t := &d.Tables[i]
		mode, enable := d.Streams, false
		if t.Streams != nil {
			mode = *t.Streams
		}
		if t.StreamsEnable != nil {
			enable = *t.StreamsEnable
		}
		if t.Streams != nil || enable {
			enabling(join(path+".tables", t.Pattern), mode, enable)
		}
	}
}
