package ledger

// Price is the price of a million capacity units of an on-demand table.
type Price struct {
	Read, Write float64
	Currency    string
}

// PriceDate is the month of the prices in the list of regions.
const PriceDate = "2026-09"

// regions has DynamoDB's prices for on-demand tables of the standard class, from AWS's price list.
var regions = map[string]Price{
	"ap-northeast-1": {0.1425, 0.715, "USD"},
	"ap-south-1":     {0.1425, 0.71, "USD"},
	"ap-southeast-2": {0.1425, 0.71, "USD"},
	"eu-central-1":   {0.1525, 0.7625, "USD"},
	"eu-west-1":      {0.1415, 0.705, "USD"},
	"us-east-1":      {0.125, 0.625, "USD"},
	"us-east-2":      {0.125, 0.625, "USD"},
	"us-west-2":      {0.125, 0.625, "USD"},
}

// PriceOf returns DynamoDB's price in a region. ok is false for a region whose price is not known.
func PriceOf(region string) (p Price, ok bool) {
	p, ok = regions[region]
	return p, ok
}
