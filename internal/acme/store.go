package acme

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// store is the files of a certificate and of an account. Their names depend on the authority,
// so that a test authority and a real one can share a folder. Only the process's user can
// read them.
type store struct {
	folder, cert, account string
}

func newStore(cfg *Config) store {
	sorted := slices.Sorted(slices.Values(cfg.Domains))
	return store{
		folder:  cfg.Folder,
		cert:    filepath.Join(cfg.Folder, sorted[0]+"-"+shortHash(cfg.Directory, sorted...)+".pem"),
		account: filepath.Join(cfg.Folder, "account-"+shortHash(cfg.Directory)+".pem"),
	}
}

// shortHash returns a name for texts without line breaks.
func shortHash(first string, rest ...string) string {
	sum := sha256.Sum256([]byte(first + "\n" + strings.Join(rest, "\n")))
	return hex.EncodeToString(sum[:6])
}

// prepare makes the folder.
func (s *store) prepare() error { return os.MkdirAll(s.folder, 0o700) }

// load returns the stored certificate, which may have expired, or nil if there is none.
func (s *store) load() (*tls.Certificate, error) {
	data, err := os.ReadFile(s.cert)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.cert, err)
	}
	return &c, nil
}

// save stores a certificate and its key in one file, which is replaced as a whole.
func (s *store) save(c *tls.Certificate) error {
	key, err := encodeKey(c.PrivateKey)
	if err != nil {
		return err
	}
	data := bytes.NewBuffer(key)
	for _, der := range c.Certificate {
		if err := pem.Encode(data, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			return err
		}
	}
	return s.replace(s.cert, data.Bytes())
}

// accountKey returns the stored key of the account, or a new one, which it stores.
func (s *store) accountKey() (crypto.Signer, error) {
	data, err := os.ReadFile(s.account)
	if errors.Is(err, fs.ErrNotExist) {
		return s.newAccountKey()
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s: no PEM", s.account)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.account, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: a key of type %T can't sign", s.account, key)
	}
	return signer, nil
}

func (s *store) newAccountKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	data, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return key, s.replace(s.account, data)
}

func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// replace writes a file, whose old content remains if that fails.
func (s *store) replace(name string, data []byte) error {
	f, err := os.CreateTemp(s.folder, ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
