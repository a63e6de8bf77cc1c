package config

// Ledger accounts for the capacity units that requests of services of type dynamodb consume at
// their origins, and that answers from memory save. Requests then ask for their consumed capacity,
// which is removed from the answers of clients that do not ask for it.
type Ledger struct {
	// File with the figures of the last 30 days, by hour; a few megabytes at most for most
	// uses. Left out: the figures are kept in memory, and end with the process. Takes effect at a
	// restart.
	File string `yaml:"file"`
	// Prices of capacity units. Left out: DynamoDB's prices for on-demand tables of the service's
	// region, as far as they are known; an embedded store has none.
	Prices *LedgerPrices `yaml:"prices"`
}

// LedgerPrices sets the prices of capacity units.
type LedgerPrices struct {
	// Price of a million units of reads.
	Read float64 `yaml:"read" min:"0" max:"1000000"`
	// Price of a million units of writes.
	Write float64 `yaml:"write" min:"0" max:"1000000"`
	// Name of the currency, for example USD or JPY.
	Currency string `yaml:"currency" default:"USD"`
}
