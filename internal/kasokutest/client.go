package kasokutest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Config returns a configuration for clients of the AWS SDK, which call the store directly. It
// has credentials and a region. For clients that use the network, replace HTTPClient by nil,
// and BaseEndpoint by Endpoint's result.
func (s *Store) Config() aws.Config {
	return aws.Config{
		Region:       s.region,
		BaseEndpoint: aws.String("http://kasokutest.invalid"),
		HTTPClient:   transport{s.store},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "kasokutest", SecretAccessKey: "kasokutest", Source: "kasokutest"}, nil
		}),
	}
}

// Client returns a client of the store.
func (s *Store) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.NewFromConfig(s.Config(), options...)
}
