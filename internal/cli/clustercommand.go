package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// clusterCommand prints the members of a cluster, or changes them.
type clusterCommand struct {
	Members clusterMembers `cmd:"" default:"withargs" help:"Print the members of the cluster; kasoku cluster alone does the same."`
	Evict   clusterEvict   `cmd:"" help:"Take a node out of the cluster, for example because it hangs."`
}

type clusterMembers struct {
	adminFlags
	JSON bool `help:"Print JSON."`
}

func (c *clusterMembers) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	var status admin.ClusterStatus
	if err := client.get("/api/v1/cluster", &status); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(env.Stdout).Encode(status)
	}
	status.WriteTable(env.Stdout, time.Now())
	return nil
}

type clusterEvict struct {
	adminFlags
	Node string `arg:"" name:"node" help:"The name of the node. If it still runs, it empties its cache and joins again."`
	JSON bool   `help:"Print JSON."`
}

// Validate is called by kong after parsing.
func (c *clusterEvict) Validate() error {
	if c.Node == "" {
		return errors.New("give the name of a node")
	}
	return nil
}

func (c *clusterEvict) Run(env *Environment) error {
	client, err := c.client(env)
	if err != nil {
		return err
	}
	var result admin.EvictResult
	if err := client.post("/api/v1/cluster/evict", admin.EvictRequest{Node: c.Node}, &result); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(env.Stdout).Encode(result)
	}
	fmt.Fprintf(env.Stdout, "%s is no longer a member\n", result.Evicted)
	return nil
}
