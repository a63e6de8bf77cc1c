package history

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is one key's sequential specification.
var register = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		now, o := state.(int64), input.(*Op)
		switch {
		case o.Kind == Read:
			return now == o.Got, now
		case o.Kind == Swap && o.Return != never:
			return now == o.Got, o.Arg
		case o.Kind == Write || o.Kind == Swap:
			return true, o.Arg
		case o.Kind == Check:
			return now == o.Expect, now
		case o.Refused:
			return now == o.Got && now != o.Expect, now
		case now == o.Expect:
			return true, o.Arg
		}
		return o.Return == never, now
	},
	DescribeOperation: func(input, _ any) string { return input.(*Op).String() },
}

// checkKeys returns the keys whose operations are not linearizable, or could not be checked
// within the time per key.
func checkKeys(ops []Op, perKey time.Duration) (violations []string) {
	byKey := map[int32][]*Op{}
	for i := range ops {
		byKey[ops[i].Key] = append(byKey[ops[i].Key], &ops[i])
	}
	keys := make(chan int32)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for key := range keys {
				if why := checkKey(byKey[key], perKey); why != "" {
					mu.Lock()
					violations = append(violations, why)
					mu.Unlock()
				}
			}
		})
	}
	for key := range byKey {
		keys <- key
	}
	close(keys)
	wg.Wait()
	slices.Sort(violations)
	return violations
}

func checkKey(ops []*Op, limit time.Duration) string {
	ops = prepare(ops)
	history := make([]porcupine.Operation, len(ops))
	for i, o := range ops {
		history[i] = porcupine.Operation{ClientId: int(o.Client), Input: o, Call: o.Call, Return: o.Return}
	}
	switch porcupine.CheckOperationsTimeout(register, history, limit) {
	case porcupine.Ok:
		return ""
	case porcupine.Unknown:
		return fmt.Sprintf("key %d: undecided after %s with %d operations", ops[0].Key, limit, len(ops))
	}
	shortest := shrink(ops, limit)
	var b strings.Builder
	fmt.Fprintf(&b, "key %d: not linearizable; the last %d of %d operations before it shows:", ops[0].Key, min(len(shortest), 14), len(ops))
	for _, o := range shortest[max(0, len(shortest)-14):] {
		b.WriteString("\n    " + o.String())
	}
	return b.String()
}

// prepare prepares the operations of one key for the checker, which is slow for operations
// without an end. A write with an unknown outcome whose number was read had been executed by
// the first such read. One whose number was never read explains nothing and is removed,
// except deletes, which can't be identified.
func prepare(ops []*Op) []*Op {
	seen := map[int64]int64{}
	for _, o := range ops {
		if v, ok := o.observes(); ok {
			if first, ok := seen[v]; !ok || o.Return < first {
				seen[v] = o.Return
			}
		}
	}
	kept := make([]*Op, 0, len(ops))
	for _, o := range ops {
		if o.Return == never && !o.writes() {
			continue
		}
		if o.Return == never && o.Arg != 0 {
			first, ok := seen[o.Arg]
			if !ok || first < o.Call {
				continue
			}
			ended := *o
			ended.Return = first
			// It was executed, but its old value is unknown.
			if ended.Kind == Swap {
				ended.Kind = Write
			}
			o = &ended
		}
		kept = append(kept, o)
	}
	slices.SortFunc(kept, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	return kept
}

// shrink removes operations from the end as long as the rest is still not linearizable, so
// that the report ends at the violation.
func shrink(ops []*Op, limit time.Duration) []*Op {
	fails := func(n int) bool {
		history := make([]porcupine.Operation, n)
		for i, o := range ops[:n] {
			history[i] = porcupine.Operation{ClientId: int(o.Client), Input: o, Call: o.Call, Return: o.Return}
		}
		return porcupine.CheckOperationsTimeout(register, history, limit) == porcupine.Illegal
	}
	low, high := 0, len(ops)
	for low+1 < high {
		if mid := (low + high) / 2; fails(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return ops[:high]
}

func (o *Op) String() string {
	var what string
	switch o.Kind {
	case Read:
		what = fmt.Sprintf("read %d", o.Got)
	case Write:
		what = fmt.Sprintf("write %d", o.Arg)
	case Swap:
		what = fmt.Sprintf("write %d, before: %d", o.Arg, o.Got)
	case CAS:
		what = fmt.Sprintf("write %d if %d", o.Arg, o.Expect)
		if o.Refused {
			what += fmt.Sprintf(": refused, is %d", o.Got)
		}
	case Check:
		what = fmt.Sprintf("check for %d", o.Expect)
	}
	until := "no answer"
	if o.Return != never {
		until = fmt.Sprintf("%.3f ms", float64(o.Return)/1e6)
	}
	return fmt.Sprintf("%.3f ms to %s, client %d: %s", float64(o.Call)/1e6, until, o.Client, what)
}
