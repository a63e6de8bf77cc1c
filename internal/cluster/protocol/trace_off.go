//go:build !kasokutrace

package protocol

// tracer logs the steps of a machine, but only in a build with the tag kasokutrace.
type tracer struct{}

func (*tracer) read(*Machine, *View)        {}
func (*tracer) adopt(*Machine)              {}
func (*tracer) handOver(*Machine, Instance) {}
func (*tracer) takeOver(Instance)           {}
func (*tracer) begin(*Machine, *write)      {}
func (*tracer) round(*write)                {}
func (*tracer) extend(*Machine, uint64)     {}
func (*tracer) commit(uint64)               {}
func (*tracer) unknown(uint64)              {}
func (*tracer) abandon()                    {}
func (*tracer) acknowledge(heldKey, uint64) {}
func (*tracer) release(heldKey)             {}
func (*tracer) expel()                      {}
