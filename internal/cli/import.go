package cli

// importCommand prints a configuration that replaces another program.
type importCommand struct {
	BBPD  importBBPD  `cmd:"" name:"bbpd" help:"Print the kasoku.yaml that replaces bbpd."`
	Nginx importNginx `cmd:"" name:"nginx" help:"Print the kasoku.yaml that replaces nginx's use of memcached."`
}
