package advice

// Input has the figures since the start of the process, and the settings that run.
type Input struct {
	Memories []Memory
}

// Memory is the memory of a service that has its own, or the one that the others share.
type Memory struct {
	Service   string // "" for the shared memory
	Limit     uint64 // the setting, in bytes
	Whole     uint64 // the setting of the memory that all services share
	Capacity  uint64 // the part of it that entries may use now
	Bytes     uint64 // of the entries
	Evictions uint64

	Lookups  uint64
	Sampled  uint64 // look-ups in the sample
	Keys     int    // in the sample
	HitRatio float64
	// Half and Double are the estimated hit ratios with half of the capacity and with twice as much.
	Half, Double float64
}
