package harness

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Faults sets the faults of the node's embedded store to those of a plan.
func (n *Node) Faults(plan string) error {
	resp, err := adminClient.Post(n.Admin+"/api/v1/faults", "application/json", strings.NewReader(`{"plan":`+plan+`}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		return fmt.Errorf("faults %s: %s %s, %w", plan, resp.Status, body, err)
	}
	return nil
}
