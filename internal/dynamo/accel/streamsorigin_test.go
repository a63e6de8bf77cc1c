package accel

import "testing"

func TestStreamsURL(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://dynamodb.eu-west-1.amazonaws.com":                   "https://streams.dynamodb.eu-west-1.amazonaws.com",
		"https://dynamodb.eu-west-1.amazonaws.com:443":               "https://streams.dynamodb.eu-west-1.amazonaws.com:443",
		"https://dynamodb-fips.us-east-1.amazonaws.com":              "https://streams.dynamodb-fips.us-east-1.amazonaws.com",
		"https://dynamodb.cn-north-1.amazonaws.com.cn":               "https://streams.dynamodb.cn-north-1.amazonaws.com.cn",
		"https://dynamodb.eu-west-1.api.aws":                         "https://streams-dynamodb.eu-west-1.api.aws",
		"https://123456789012.ddb.us-east-1.amazonaws.com":           "https://streams.dynamodb.us-east-1.amazonaws.com",
		"https://vpce-1-a.dynamodb.us-east-1.vpce.amazonaws.com":     "https://vpce-1-a.dynamodb.us-east-1.vpce.amazonaws.com",
		"https://vpce-1-a.streams.dynamodb.us-east-1.vpce.amazonaws": "https://vpce-1-a.streams.dynamodb.us-east-1.vpce.amazonaws",
		"http://127.0.0.1:8000":                                      "http://127.0.0.1:8000",
		"http://dynamodb.local:8000":                                 "http://dynamodb.local:8000",
	} {
		if got := streamsURL(endpoint); got != want {
			t.Errorf("%s: got %s, want %s", endpoint, got, want)
		}
	}
}
