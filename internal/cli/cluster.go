package cli

import (
	"errors"
	"fmt"
	"strings"

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

// cluster refuses a configuration with another cluster than the one that runs. Other members
// identify this node by these settings, so it would have to leave and join again.
func (c *change) cluster() error {
	if c.node.cfg == nil {
		return nil // the first configuration
	}
	changed := config.ClusterChanges(c.node.cfg, c.cfg)
	switch {
	case len(changed) == 0:
		return nil
	case c.node.cfg.Cluster == nil:
		return errors.New("cluster: it can't be added while this node runs; restart it to join the cluster")
	case c.cfg.Cluster == nil:
		return errors.New("cluster: it can't be removed while this node runs; restart it to leave the cluster")
	}
	return fmt.Errorf("%s can't change while this node is in its cluster; restart it, one node after the other", strings.Join(changed, ", "))
}
