package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		for i, want := range []bool{true, false} {
			start := time.Now()
			if got, took := For(ctx, 2*time.Second), time.Since(start); got != want || took != time.Duration(2-i)*time.Second {
				t.Errorf("wait %d returned %v after %v", i, got, took)
			}
		}
	})
}
