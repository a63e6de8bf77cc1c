package accel

import (
	"net/url"
	"strings"

	"github.com/kasoku/kasoku/internal/origin"
)

// DynamoDB serves SearchVectors on separate hosts: its regional endpoints don't support the
// operation.

// searchHosts are prefixes of AWS hosts and of the corresponding hosts for searches.
var searchHosts = [...][2]string{{"dynamodb.", "search-dynamodb."}, {"dynamodb-fips.", "search-dynamodb-fips."}}

// awsDomains are the domains of AWS endpoints.
var awsDomains = []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".api.amazonwebservices.com.cn"}

// searchURL returns the URL for searches that corresponds to a DynamoDB endpoint. It returns
// false for other origins, which serve searches themselves.
func searchURL(endpoint string) (string, bool) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", false
	}
	for _, domain := range awsDomains {
		if !strings.HasSuffix(u.Hostname(), domain) {
			continue
		}
		for _, hosts := range searchHosts {
			if rest, ok := strings.CutPrefix(u.Host, hosts[0]); ok {
				u.Host = hosts[1] + rest
				return u.String(), true
			}
		}
		if account, rest, ok := strings.Cut(u.Host, ".ddb."); ok {
			u.Host = account + ".search-ddb." + rest
			return u.String(), true
		}
	}
	return "", false
}

// streamsURL returns the URL of the streams API that corresponds to a DynamoDB endpoint: AWS has
// separate hosts for it, other origins serve it themselves.
func streamsURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	for _, domain := range awsDomains {
		if !strings.HasSuffix(u.Hostname(), domain) {
			continue
		}
		prefix := "streams."
		if strings.Contains(domain, ".api.") { // for IPv6 too
			prefix = "streams-"
		}
		if _, regional, ok := strings.Cut(u.Host, ".ddb."); ok { // the host of an account
			u.Host = prefix + "dynamodb." + regional
		} else if strings.HasPrefix(u.Host, "dynamodb.") || strings.HasPrefix(u.Host, "dynamodb-fips.") {
			u.Host = prefix + u.Host
		}
	}
	return u.String()
}

// connect connects to the origin, to the one for searches, and to the one for streams. Metrics and events are those
// of the first.
func (set *settings) connect(oc origin.Config) (err error) {
	connect := set.cfg.Connect
	if connect == nil {
		connect = func(oc origin.Config) (Origin, error) { return origin.New(oc) }
	}
	if set.origin, err = connect(oc); err != nil {
		return err
	}
	if set.cfg.Ledger != nil && !set.cfg.Namespaced {
		set.origin = meter{set.origin, set.cfg.Name, set.cfg.Ledger}
	}
	set.search = set.origin
	if search, ok := searchURL(oc.URL); ok {
		oc.URL, oc.Metrics, oc.OnBreakerChange = search, nil, nil
		if set.search, err = connect(oc); err != nil {
			set.origin.Close()
			return err
		}
	}
	if set.streams = set.origin; !set.cfg.Local && set.cfg.followsStreams() {
		// These requests must not wait behind those of clients.
		oc.URL, oc.Metrics, oc.OnBreakerChange = streamsURL(set.cfg.Origin.URL), nil, nil
		oc.Breaker, oc.Concurrency = origin.Breaker{Disabled: true}, origin.Concurrency{Disabled: true}
		if set.streams, err = connect(oc); err != nil {
			set.close(nil)
		}
	}
	return err
}

// close closes the connections to the origins, except to an origin that next also uses.
func (set *settings) close(next *settings) {
	if set.search != set.origin {
		set.search.Close()
	}
	if set.streams != nil && set.streams != set.origin {
		set.streams.Close()
	}
	if next == nil || set.origin != next.origin {
		set.origin.Close()
	}
}
