package sigv4

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// unsent returns a request as it is just before it is signed.
func unsent(body []byte) *http1.Request {
	return head("POST", "/", "Host: 127.0.0.1:8001", "X-Amz-Target: DynamoDB_20120810.PutItem", "Content-Length: "+strconv.Itoa(len(body)))
}

// staticCredentials returns a provider that always returns the same credentials.
func staticCredentials(c aws.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil })
}

// TestSignReplacesClientSignature signs a request that a client signed for Kasoku: only the new
// signature remains, and it verifies.
func TestSignReplacesClientSignature(t *testing.T) {
	body := []byte("{}")
	r := unsent(body)
	for _, name := range []string{"authorization", "Date", "X-Amz-Date", "X-AMZ-Security-Token", "X-Amz-Content-Sha256", "X-Amz-Date"} {
		r.Fields = append(r.Fields, field(name, "the client's"))
	}
	s := NewSigner(staticCredentials(appKey), region, service)
	for range 2 { // the second time with the first signature in it
		if err := s.Sign(t.Context(), r, body); err != nil {
			t.Fatal(err)
		}
	}
	if key, err := NewVerifier(region, service, keys).Verify(r, body, time.Now()); err != nil || key != 1 {
		t.Errorf("got key %d, error %v for %s", key, err, show(r))
	}
	if text := show(r); strings.Contains(text, "the client's") || len(r.Fields) != 5 {
		t.Errorf("got more than one authentication: %s", text)
	}
}

// TestSignsLikeSDK signs random requests here and with the SDK at the same time: the signatures are
// equal.
func TestSignsLikeSDK(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, body := randomRequest(t)
		c := appKey
		c.SessionToken = rapid.SampledFrom([]string{"", "token", strings.Repeat("IQoJb3JpZ2luX2VjE+/=", 50)}).Draw(t, "token")
		for _, name := range []string{"User-Agent", "X-Amzn-Trace-Id"} {
			if rapid.Bool().Draw(t, name) {
				plain.Header.Set(name, "v")
			}
		}
		now := noon.Add(time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "seconds")) * time.Second)
		if err := v4.NewSigner().SignHTTP(t.Context(), c, plain, hashOf(body), service, region, now); err != nil {
			t.Fatal(err)
		}
		ours := sent(plain, body) // signed, with the host in the SDK's form
		signer := NewSigner(staticCredentials(c), region, service)
		for range 2 { // with a derived key, then with the cached one
			if err := signer.sign(t.Context(), ours, body, now); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
			if got, want := string(ours.Get(name)), plain.Header.Get(name); got != want {
				t.Fatalf("%s\n got %s\nwant %s\nof %s", name, got, want, show(ours))
			}
		}
	})
}

// TestCredentialsAreCached checks that credentials are fetched once, and again when they expire.
func TestCredentialsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s := NewSigner(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			asked.Add(1)
			c := appKey
			c.CanExpire, c.Expires, c.SessionToken = true, time.Now().Add(time.Hour), "token"
			return c, nil
		}), region, service)
		for range 3 {
			r := unsent(nil)
			if err := s.Sign(t.Context(), r, nil); err != nil || string(r.Get("X-Amz-Security-Token")) != "token" {
				t.Fatalf("got error %v, request %s", err, show(r))
			}
		}
		if asked.Load() != 1 {
			t.Errorf("the provider was called %d times; want once", asked.Load())
		}
		time.Sleep(2 * time.Hour) // in the bubble's time
		if err := s.Sign(t.Context(), unsent(nil), nil); err != nil || asked.Load() != 2 {
			t.Errorf("got error %v after %d calls of the provider; want 2", err, asked.Load())
		}
	})
}

func TestSignErrors(t *testing.T) {
	f := func(want string, provider aws.CredentialsProvider) {
		t.Helper()
		if err := NewSigner(provider, region, service).Sign(t.Context(), unsent(nil), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v; want %q", err, want)
		}
	}
	f("no credentials are configured", nil)
	f("sign for the origin: get credentials: failed to refresh cached credentials, metadata is unavailable", aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("metadata is unavailable")
	}))
	f("the credentials from a file expired at 2020-01-01T00:00:00Z", aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		c := appKey
		c.Source, c.CanExpire, c.Expires = "a file", true, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		return c, nil
	}))
}

// TestDefaultCredentials runs the chain of providers in an environment of its own.
func TestDefaultCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("credentials", "[default]\naws_access_key_id = FILEKEY\naws_secret_access_key = filesecret\n")
	broken := write("broken", "[default]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = gone\n")
	f := func(name, host, want, wantErr string, env ...string) {
		t.Run(name, func(t *testing.T) {
			for _, v := range os.Environ() {
				if n, _, _ := strings.Cut(v, "="); strings.HasPrefix(n, "AWS_") {
					t.Setenv(n, "")
				}
			}
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true") // keeps the test off the network
			t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "none"))
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
			for i := 0; i < len(env); i += 2 {
				t.Setenv(env[i], env[i+1])
			}
			p, err := DefaultCredentials(t.Context(), host)
			var got aws.Credentials
			if err == nil {
				got, err = p.Retrieve(t.Context())
			}
			if wantErr == "" && err != nil || wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)) || got.AccessKeyID != want {
				t.Errorf("got key %q, error %v; want %q, %q", got.AccessKeyID, err, want, wantErr)
			}
		})
	}
	const local, tokyo = "127.0.0.1:8001", "dynamodb.ap-northeast-1.amazonaws.com"
	keyed := []string{"AWS_ACCESS_KEY_ID", "ENVKEY", "AWS_SECRET_ACCESS_KEY", "s"}
	f("local, nothing set", local, "kasoku", "")
	f("local, environment", local, "ENVKEY", "", keyed...)
	f("local, file", local, "FILEKEY", "", "AWS_SHARED_CREDENTIALS_FILE", file)
	f("local, broken file", local, "", "find credentials for "+local, "AWS_CONFIG_FILE", broken)
	f("local, unknown profile", local, "", "find credentials for "+local, "AWS_PROFILE", "nope")
	f("aws, nothing set", tokyo, "", "EC2 IMDS")
	f("aws, environment", tokyo, "ENVKEY", "", keyed...)
	f("aws, china", "dynamodb.cn-north-1.amazonaws.com.cn:443", "", "EC2 IMDS")
	f("aws, dual stack", "DynamoDB.us-east-1.API.aws.", "", "EC2 IMDS")
	f("not quite aws", "amazonaws.com.example", "kasoku", "")
}

// TestSignRefuses checks that a request that can't be signed is rejected instead of sent
// with a wrong signature.
func TestSignRefuses(t *testing.T) {
	f := func(want string, fields ...http1.Field) {
		t.Helper()
		r := unsent(nil)
		r.Fields = append(r.Fields, fields...)
		if err := NewSigner(staticCredentials(appKey), region, service).Sign(t.Context(), r, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v; want %q", err, want)
		}
	}
	f("malformed header field", field("", "x"))
	f("malformed header field", field("a b", "x"))
	f("130 header fields are too many", make([]http1.Field, 127)...)
}

// TestSlowCredentials checks that Sign gives up on slow credentials after its timeout, or
// when the client disconnects.
func TestSlowCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSigner(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			time.Sleep(time.Minute) // in the bubble's time
			return appKey, nil
		}), region, service)
		start := time.Now()
		err := s.Sign(t.Context(), unsent(nil), nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != credentialsTimeout {
			t.Errorf("got error %v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Sign(ctx, unsent(nil), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
		time.Sleep(2 * time.Minute) // in the bubble's time
	})
}

func TestSignAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	c := appKey
	c.SessionToken = "token"
	for name, provider := range map[string]aws.CredentialsProvider{"plain": staticCredentials(appKey), "session": staticCredentials(c)} {
		s := NewSigner(provider, region, service)
		r, body := unsent([]byte("{}")), []byte("{}")
		if n := testing.AllocsPerRun(1000, func() {
			if err := s.Sign(t.Context(), r, body); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations; want none", name, n)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 500)
	s := NewSigner(staticCredentials(appKey), region, service)
	r := unsent(body)
	r.Fields = append(r.Fields, field("Content-Type", "application/x-amz-json-1.0"))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Sign(b.Context(), r, body); err != nil {
			b.Fatal(err)
		}
	}
}
