package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// storeFlags are the flags of commands about the embedded store of a running Kasoku.
type storeFlags struct {
	adminFlags
	Service   string `help:"The service of the store; needed if several have one." placeholder:"NAME"`
	Namespace string `help:"The access key and the region, for a service with namespaces: key." placeholder:"KEY/REGION"`
	JSON      bool   `help:"Print JSON."`
}

// post sends a request about the store, and prints the store's contents.
func (f *storeFlags) post(env *Environment, action, name string) error {
	client, err := f.client(env)
	if err != nil {
		return err
	}
	var c admin.StoreContents
	if err := client.post("/api/v1/store/"+action, admin.StoreRequest{Service: f.Service, Namespace: f.Namespace, Name: name}, &c); err != nil {
		return fail(codeInput, err)
	}
	if f.JSON {
		return json.NewEncoder(env.Stdout).Encode(c)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	if c.Namespaces == nil {
		fmt.Fprintf(w, "%s: ", c.Service)
		printContents(w, c.Tables, c.Snapshots)
		return w.Flush()
	}
	fmt.Fprintf(w, "%s: %d namespaces\n", c.Service, len(c.Namespaces))
	for _, n := range c.Namespaces {
		fmt.Fprintf(w, "namespace %s: ", n.Name)
		printContents(w, n.Tables, n.Snapshots)
	}
	return w.Flush()
}

// printContents prints the contents of a store, in lines with cells.
func printContents(w io.Writer, tables []string, snapshots []admin.StoreSnapshot) {
	fmt.Fprintf(w, "%d tables, %d snapshots\n", len(tables), len(snapshots))
	for _, t := range tables {
		fmt.Fprintf(w, "table\t%s\t\n", t)
	}
	for _, s := range snapshots {
		fmt.Fprintf(w, "snapshot\t%s\t%s\n", s.Name, s.Saved.Format(time.DateTime))
	}
}

type storeReset struct {
	storeFlags
}

func (c *storeReset) Run(env *Environment) error { return c.post(env, "reset", "") }

type storeSnapshot struct {
	storeFlags
	Name string `arg:"" help:"The name of the snapshot, which replaces an earlier one."`
}

func (c *storeSnapshot) Run(env *Environment) error { return c.post(env, "snapshot", c.Name) }

type storeRestore struct {
	storeFlags
	Name string `arg:"" help:"The name of the snapshot."`
}

func (c *storeRestore) Run(env *Environment) error { return c.post(env, "restore", c.Name) }

type storeRemove struct {
	storeFlags
	Name string `arg:"" help:"The name of the snapshot."`
}

func (c *storeRemove) Run(env *Environment) error { return c.post(env, "remove", c.Name) }

type storeList struct {
	storeFlags
}

func (c *storeList) Run(env *Environment) error { return c.post(env, "list", "") }
