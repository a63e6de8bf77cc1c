package dax

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// TestTLS runs each client over TLS, with the setting by which it trusts the certificate.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	address, err := harness.StablePort()
	if err != nil {
		t.Fatal(err)
	}
	node := harness.Start(t, harness.Options{Origin: "embedded:./data",
		Service: []string{open, "dax:", "  listen: " + address, "  tls: {cert: " + cert + ", key: " + key + "}"}})
	env := []string{"SSL_CERT_FILE=" + cert, "NODE_EXTRA_CA_CERTS=" + cert,
		"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStorePassword=password -Djavax.net.ssl.trustStore=" + trustStore(t, dir, cert)}
	work := []step{
		{Step: "put", Op: "PutItem", Params: json.RawMessage(`{"TableName":"RUN-s","Item":{"id":{"S":"x"},"v":{"N":"1"}}}`)},
		{Step: "get", Op: "GetItem", Params: json.RawMessage(`{"TableName":"RUN-s","Key":{"id":{"S":"x"}}}`)},
		{Step: "large", Op: "PutItem", Params: json.RawMessage(`{"TableName":"RUN-s","Item":{"id":{"S":"large"},"v":{"S":"` + strings.Repeat("large ", 50_000) + `"}}}`)},
		{Step: "large update", Op: "UpdateItem", Params: json.RawMessage(`{"TableName":"RUN-s","Key":{"id":{"S":"large"}},"UpdateExpression":"SET w = :w, v = :v","ExpressionAttributeValues":{":w":{"N":"1"},":v":{"S":"` +
			strings.Repeat("larger ", 50_000) + `"}},"ReturnValues":"ALL_NEW"}`)},
		{Step: "scan", Op: "Scan", Params: json.RawMessage(`{"TableName":"RUN-s"}`)},
	}
	input, err := lines(work)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range drivers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, side := range []string{"x", "y"} {
				create(t, node.URL, c.name+"-tls-"+side+"-")
			}
			c.env = append(c.env[:len(c.env):len(c.env)], env...)
			answers, err := c.run(t, "daxs://"+address, node.URL, "tls", input)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range compare(c.name, work, answers) {
				t.Error(d)
			}
		})
	}
}

// certificate makes a self-signed certificate for loopback.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kasoku"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, typ string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}

// trustStore returns a key store with which Java trusts the certificate.
func trustStore(t *testing.T, dir, cert string) string {
	t.Helper()
	path := filepath.Join(dir, "trust.p12")
	out, err := exec.CommandContext(t.Context(), "keytool", "-importcert", "-noprompt", "-alias", "kasoku", "-file", cert,
		"-keystore", path, "-storetype", "PKCS12", "-storepass", "password").CombinedOutput()
	if err != nil {
		t.Fatalf("keytool: %v: %s", err, out)
	}
	return path
}
