package differential

// maxReplays bounds the time that shrink takes.
const maxReplays = 40

// shrink removes from steps, of which the last one fails, all steps without which it still
// fails: first all others, then halves, then quarters, down to single steps.
func shrink(steps []request, fails func([]request) bool) []request {
	if last := steps[len(steps)-1:]; fails(last) {
		return last
	}
	replays := 0
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size < len(steps) && replays < maxReplays; replays++ {
			less := append(append([]request{}, steps[:at]...), steps[at+size:]...)
			if fails(less) {
				steps = less
			} else {
				at += size
			}
		}
	}
	return steps
}
