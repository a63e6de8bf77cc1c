package cli

// storeCommand groups the commands about a DynamoDB-compatible store.
type storeCommand struct {
	Load     storeLoad     `cmd:"" help:"Load tables and items from files, exports of AWS or another store."`
	Dump     storeDump     `cmd:"" help:"Write tables as exports of AWS, which load and AWS read."`
	Reset    storeReset    `cmd:"" help:"Remove all tables of an embedded store. Snapshots are kept."`
	Snapshot storeSnapshot `cmd:"" help:"Save a whole embedded store under a name."`
	Restore  storeRestore  `cmd:"" help:"Make an embedded store as it was when a snapshot was saved."`
	Remove   storeRemove   `cmd:"" help:"Remove a snapshot of an embedded store."`
	List     storeList     `cmd:"" help:"Print the tables and the snapshots of an embedded store."`
}
