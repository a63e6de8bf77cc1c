package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

type drainCommand struct {
	adminFlags
	Service string        `help:"The service that the origin belongs to." required:"" placeholder:"NAME"`
	Origin  string        `help:"The origin's URL, as the configuration has it." required:"" placeholder:"URL"`
	Undo    bool          `help:"Allow new requests again."`
	Wait    time.Duration `help:"Return when the origin has no more requests in flight, or fail after this time." placeholder:"TIME"`
	JSON    bool          `help:"Print JSON."`
}

// Validate is called by kong after parsing.
func (c *drainCommand) Validate() error {
	if c.Undo && c.Wait != 0 {
		return errors.New("--wait and --undo can't be given together")
	}
	return nil
}

// drainPause is the interval between checks of the requests in flight.
const drainPause = 100 * time.Millisecond

func (c *drainCommand) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	until := time.Now().Add(c.Wait)
	for {
		var result admin.DrainResult
		if err := client.post("/api/v1/drain", admin.DrainRequest{Service: c.Service, Origin: c.Origin, Undo: c.Undo}, &result); err != nil {
			return fail(codeInput, err)
		}
		left := time.Until(until)
		switch {
		case result.InFlight == 0 || c.Wait == 0:
			return c.print(env, &result)
		case left <= 0:
			return fail(codeInput, fmt.Errorf("%s gets no new requests, but %d are still under way", result.Origin, result.InFlight))
		}
		time.Sleep(min(drainPause, left))
	}
}

func (c *drainCommand) print(env *Environment, result *admin.DrainResult) error {
	if c.JSON {
		return json.NewEncoder(env.Stdout).Encode(result)
	}
	fmt.Fprintf(env.Stdout, "%s: %s is %s, %d requests under way\n", c.Service, result.Origin, result.State, result.InFlight)
	return nil
}
