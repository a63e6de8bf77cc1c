package embedded

// writeUnits is what writing so many bytes costs.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// readUnits is what reading so many bytes costs; an eventually consistent read
// costs half.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if consistent {
		return units
	}
	return units / 2
}
