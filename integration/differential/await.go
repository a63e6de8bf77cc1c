package differential

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// awaitSpare waits until both ends have made the requested change of the spare table, or
// removes it from both.
func (r *round) awaitSpare(ctx context.Context, remove bool) error {
	name := object{"TableName": r.scene.spare}
	steady := func(a answer) bool { return !strings.Contains(text(a.body), `ING"`) }
	_, _, err := r.both(func(e *endpoint) (answer, error) {
		if err := e.await(ctx, name, steady); err != nil || !remove {
			return answer{}, err
		}
		return answer{}, e.remove(ctx, name)
	})
	return err
}

// maxPolls is the maximum number of polls of a table: one minute, since DynamoDB Local fills
// an index slowly on a busy machine.
const maxPolls = 12000

// remove deletes a table if it exists. It repeats the request until the table is gone, since
// a change in progress may prevent it.
func (e *endpoint) remove(ctx context.Context, name object) error {
	unprotected := clone(name).(object)
	unprotected["DeletionProtectionEnabled"] = false
	return e.await(ctx, name, func(a answer) bool {
		if a.status != http.StatusOK {
			return true
		}
		for _, r := range []request{{operation: "UpdateTable", body: unprotected}, {operation: "DeleteTable", body: name}} {
			if _, err := e.send(ctx, r); err != nil {
				return false // the next poll is as well
			}
		}
		return false
	})
}

// await polls the description of a table until done returns true.
func (e *endpoint) await(ctx context.Context, name object, done func(answer) bool) error {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	var a answer
	for range maxPolls {
		var err error
		if a, err = e.send(ctx, request{operation: "DescribeTable", body: name}); err != nil || done(a) {
			return err
		}
		<-poll.C
	}
	return fmt.Errorf("%s doesn't get done with %s", e.name, a)
}
