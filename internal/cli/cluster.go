package cli

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/config"
)

// startCluster joins the cluster of cfg, if it has one. It is called before any service
// accepts connections.
func (n *Node) startCluster(cfg *config.Config) error {
	if cfg.Cluster == nil {
		return nil
	}
	return fmt.Errorf("cluster %s: node %s can't join, because this version can't run a cluster yet", cfg.Cluster.Name, cfg.Cluster.NodeName())
}
