package ledger

// Price is the price of a million capacity units. The zero Price is unknown.
type Price struct {
	Read, Write float64
	Currency    string
	Date        string // the month of AWS's list that has it; empty for a price of the user's own
}

// listDate is the month of the list of regions.
const listDate = "2026-09"

// regions has DynamoDB's prices for on-demand tables of the standard class, from AWS's price list.
var regions = map[string]Price{
	"ap-northeast-1": {0.1425, 0.715, "USD", listDate},
	"ap-south-1":     {0.1425, 0.71, "USD", listDate},
	"ap-southeast-2": {0.1425, 0.71, "USD", listDate},
	"eu-central-1":   {0.1525, 0.7625, "USD", listDate},
	"eu-west-1":      {0.1415, 0.705, "USD", listDate},
	"us-east-1":      {0.125, 0.625, "USD", listDate},
	"us-east-2":      {0.125, 0.625, "USD", listDate},
	"us-west-2":      {0.125, 0.625, "USD", listDate},
}

// PriceOf returns DynamoDB's price in a region, the zero Price for one that the list does not have.
func PriceOf(region string) Price { return regions[region] }
