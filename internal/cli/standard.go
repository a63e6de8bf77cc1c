package cli

import (
	"fmt"
	"io"

	"github.com/kasoku/kasoku/internal/config"
)

// standardFile is the configuration that serve uses in a folder without a kasoku.yaml.
const standardFile = `admin:
  listen: 127.0.0.1:9090
services:
  dynamodb:
    type: dynamodb
    listen: 127.0.0.1:8000
    dax: 127.0.0.1:8111
    origin: embedded:./kasoku-data
    auth: {mode: none}
`

// standard returns the built-in configuration.
func standard(env *Environment) (*config.Config, error) {
	return config.Parse("(built in)", []byte(standardFile), env.Lookup)
}

// greet prints what is running without a configuration file, and how to use it. Commands to
// paste begin at the left margin.
func greet(w io.Writer, addr, dax string) {
	fmt.Fprintf(w, `There is no kasoku.yaml here, so this is a DynamoDB-compatible store of your own: tables are kept in ./kasoku-data,
every AWS SDK works with its endpoint set to http://%[1]s (any region, any credentials). To try it, paste:

api() { curl -sS http://%[1]s/ -H "X-Amz-Target: DynamoDB_20120810.$1" -H 'Content-Type: application/x-amz-json-1.0' -d "$2"; echo; }
api CreateTable '{"TableName":"Music","KeySchema":[{"AttributeName":"Artist","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"Artist","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}'
api PutItem '{"TableName":"Music","Item":{"Artist":{"S":"Perfume"},"Song":{"S":"Polyrhythm"}}}'
api GetItem '{"TableName":"Music","Key":{"Artist":{"S":"Perfume"}}}'

Applications with a client of DAX need no cluster: its endpoint is dax://%[3]s. In Python, after the lines above:

python3 -m venv /tmp/dax && /tmp/dax/bin/pip -q install amazon-dax-client boto3
AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any /tmp/dax/bin/python -c "import amazondax; print(amazondax.AmazonDaxClient.resource(endpoint_url='dax://%[3]s', region_name='us-east-1').Table('Music').get_item(Key={'Artist': 'Perfume'})['Item'])"

A file of your own begins with these lines (kasoku serve -c FILE; docs/configuration.md has the rest):

%[2]s
`, addr, standardFile, dax)
}
