package sigv4

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// DefaultCredentials finds the credentials for an origin, given as host or
// host:port. For AWS it is the SDK's default chain. For any other host, such as
// DynamoDB Local, the chain goes without the instance's metadata service, which
// would be waited for in vain; and if it names no credentials, they are
// "kasoku"/"kasoku", because such servers want a signature but do not check it.
// Nothing is fetched yet: credentials that fail do so when they are used.
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
	// The instance's role is the chain's last resort: no other was named.
	if cfg.Credentials == nil || aws.IsCredentialsProvider(cfg.Credentials, (*ec2rolecreds.Provider)(nil)) {
		return aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("kasoku", "kasoku", "")), nil
	}
	return cfg.Credentials, nil
}

// isAWS reports whether a host is one of AWS's endpoints, in any of its partitions.
func isAWS(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, suffix := range [...]string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
