package harness

import (
	"fmt"
	"net/http"
	"strings"
)

// Purge sends a purge request with body to the node's admin API.
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
