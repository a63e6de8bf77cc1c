package fluent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// The first server is down, so that the second gets the records. A heartbeat finds
// out when the first is back without sending it any.
func ExampleNew_failover() {
	server := fluentd{forwardtest.Detached(forwardtest.Options{})}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "logs1") {
			return nil, errors.New("no route to host")
		}
		return server.Dial(ctx, network, address)
	}

	logger, err := fluent.New([]string{"logs1.example.com", "logs2.example.com"},
		fluent.WithHeartbeat(fluent.ConnectHeartbeat, time.Second),
		fluent.WithDial(dial), // for this example only
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}

	server.print(logger)
	// Output:
	// app {"n":1}
}

// Servers share the records out among them.
func ExampleWithBalance() {
	server := fluentd{forwardtest.Detached(forwardtest.Options{})}

	logger, err := fluent.New([]string{"logs1.example.com", "logs2.example.com"},
		fluent.WithBalance(),
		fluent.WithDial(server.Dial), // both are the same in this example
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}

	server.print(logger)
	// Output:
	// app {"n":1}
}

// Fluentd's <security> section requires a key, and optionally a user.
func ExampleWithSharedKey() {
	server := fluentd{forwardtest.Detached(forwardtest.Options{
		Security: &forwardtest.Security{SharedKey: "a secret", Users: map[string]string{"shop": "another"}},
	})}

	logger, err := fluent.New([]string{"logs.example.com"},
		fluent.WithSharedKey("a secret"),
		fluent.WithUser("shop", "another"),
		fluent.WithDial(server.Dial), // for this example only
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}

	server.print(logger)
	// Output:
	// app {"n":1}
}

// A server with a certificate of one's own authority.
func ExampleWithTLS() {
	authority, certificate := ownAuthority()
	server := fluentd{forwardtest.Detached(forwardtest.Options{TLS: &tls.Config{Certificates: certificate}})}

	logger, err := fluent.New([]string{"tls://example.com"},
		fluent.WithTLS(&tls.Config{RootCAs: authority}),
		fluent.WithDial(server.Dial), // for this example only
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := logger.Post("app", map[string]any{"n": 1}); err != nil {
		log.Println(err)
	}

	server.print(logger)
	// Output:
	// app {"n":1}
}

// ownAuthority returns the authority that a client trusts, and the certificates of a server.
func ownAuthority() (*x509.CertPool, []tls.Certificate) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool, s.TLS.Certificates
}
