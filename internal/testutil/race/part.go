package race

// Part returns how many of n cases, examples or seeds a test tries: all of them, and with the race
// detector, which makes a program five times as slow, a fifth, which is enough for it to see all of
// the code. The tests that use it run without it too: scripts/allocs.sh.
func Part(n int) int {
	if Enabled {
		return (n + 4) / 5
	}
	return n
}
