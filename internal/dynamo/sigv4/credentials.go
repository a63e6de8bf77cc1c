package sigv4

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// DefaultCredentials returns a provider of credentials for an origin, given as host or
// host:port. For AWS it is the SDK's default chain.
//
// For any other host, for example DynamoDB Local, the chain excludes the instance metadata
// service, which would only time out. If that chain has no credentials, the provider returns
// "kasoku"/"kasoku", because such servers require a signature but don't check it.
//
// Nothing is fetched yet: invalid credentials fail on first use.
func DefaultCredentials(ctx context.Context, originHost string) (aws.CredentialsProvider, error) {
	if isAWS(originHost) {
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, fmt.Errorf("find credentials for %s: %w", originHost, err)
		}
		return cfg.Credentials, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	if err != nil {
		return nil, fmt.Errorf("find credentials for %s: %w", originHost, err)
	}
	// The chain falls back to the instance's role only if nothing else is configured.
	if cfg.Credentials == nil || aws.IsCredentialsProvider(cfg.Credentials, (*ec2rolecreds.Provider)(nil)) {
		return aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("kasoku", "kasoku", "")), nil
	}
	return cfg.Credentials, nil
}

// isAWS reports whether host is an AWS endpoint, in any partition.
func isAWS(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws"}, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}
