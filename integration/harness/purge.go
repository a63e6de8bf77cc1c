package harness

import (
	"fmt"
	"net/http"
	"strings"
)

// Purge asks the node's admin API to drop what body names.
func (n *Node) Purge(body string) error {
	resp, err := adminClient.Post(n.Admin+"/api/v1/purge", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("purge %s: %s", body, resp.Status)
	}
	return nil
}
