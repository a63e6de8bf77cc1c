package config

import "strings"

// StoreAddress is a service of type dynamodb for a client on the same machine.
type StoreAddress struct {
	Service string
	URL     string // http://, https:// or unix:/path; empty if the port is chosen at the start
	Region  string // empty if the file does not give it
}

// ReadStores returns the services of type dynamodb of a file, for commands that are clients of
// them. Mistakes elsewhere in the file are ignored, and so are unset secrets.
func ReadStores(file string, env func(string) (string, bool)) ([]StoreAddress, error) {
	c, _, err := readAny(file, env)
	if err != nil {
		return nil, err
	}
	var list []StoreAddress
	for i := range c.Services {
		s := &c.Services[i]
		if s.DynamoDB == nil {
			continue
		}
		a := StoreAddress{Service: s.Name, Region: s.DynamoDB.Region, URL: string(s.Listen)}
		if a.Region == "" {
			a.Region = regionOf(s.DynamoDB.Origin)
		}
		if !strings.HasPrefix(a.URL, "unix:") {
			a.URL = s.Listen.local()
			if s.TLS != nil {
				a.URL = strings.Replace(a.URL, "http:", "https:", 1)
			}
		}
		list = append(list, a)
	}
	return list, nil
}
