package acme

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/acme"
)

// issue returns a self-signed certificate that is valid from now on.
func issue(t testing.TB, life time.Duration) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"a.example"}, NotBefore: time.Now(), NotAfter: time.Now().Add(life),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// scene is a manager whose authority is a function.
type scene struct {
	*Manager
	mu   sync.Mutex
	text strings.Builder // the log
	at   []time.Duration // when attempts were made, since the start
}

// Write appends to the log.
func (s *scene) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

func (s *scene) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// attempts returns when attempts were made, since the start.
func (s *scene) attempts() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.at)
}

// newScene returns a manager that is not started. answer returns the result of an attempt,
// numbered from 0.
func newScene(t *testing.T, folder string, answer func(n int) (*tls.Certificate, error)) *scene {
	t.Helper()
	s := &scene{}
	m, err := New(Config{
		Domains: []string{"a.example", "b.example"}, Directory: "https://ca.example/dir", Folder: folder,
		Log: slog.New(slog.NewTextHandler(s, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	m.obtain = func(context.Context, int) (*tls.Certificate, error) {
		s.mu.Lock()
		s.at = append(s.at, time.Since(begin))
		n := len(s.at) - 1
		s.mu.Unlock()
		return answer(n)
	}
	s.Manager = m
	t.Cleanup(m.Close)
	return s
}

const day = 24 * time.Hour

var errRefused = errors.New("refused")

func TestHandshakeWaitsForFirstCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := issue(t, 90*day)
		s := newScene(t, t.TempDir(), func(int) (*tls.Certificate, error) {
			time.Sleep(firstWait - 1)
			return first, nil
		})
		s.Start()
		if got, err := s.current(t.Context()); got != first || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestHandshakeWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, t.TempDir(), func(int) (*tls.Certificate, error) {
			time.Sleep(time.Minute)
			return nil, errRefused
		})
		s.Start()
		begin := time.Now()
		if _, err := s.current(t.Context()); err == nil || time.Since(begin) != firstWait {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.current(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(time.Minute)
		begin = time.Now()
		if _, err := s.current(t.Context()); !errors.Is(err, errRefused) || time.Since(begin) != 0 {
			t.Errorf("after the failure: %v after %v", err, time.Since(begin))
		}
	})
}

func TestPausesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &acme.Error{
			ProblemType: "urn:ietf:params:acme:error:rateLimited", StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7200"}},
		}
		s := newScene(t, t.TempDir(), func(n int) (*tls.Certificate, error) {
			if n == 9 {
				return nil, limited
			}
			return nil, errRefused
		})
		s.Start()
		time.Sleep(8 * time.Hour)
		synctest.Wait()
		var pauses []time.Duration
		at := s.attempts()
		for i := range at[1:] {
			pauses = append(pauses, at[i+1]-at[i])
		}
		const m = time.Minute
		if want := []time.Duration{m, 2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m, 60 * m, 120 * m, 60 * m}; !slices.Equal(pauses, want) {
			t.Errorf("got pauses %v, want %v", pauses, want)
		}
		if !strings.Contains(s.log(), `domains="a.example b.example" error=refused pause=1m0s present_expires=none`) {
			t.Errorf("log:\n%s", s.log())
		}
	})
}

func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issued []*tls.Certificate
		s := newScene(t, t.TempDir(), func(n int) (*tls.Certificate, error) {
			if n == 1 {
				return nil, errRefused
			}
			issued = append(issued, issue(t, 90*day))
			return issued[len(issued)-1], nil
		})
		s.Start()
		f := func(wait time.Duration, attempts, certificate int) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			at := s.attempts()
			if got, err := s.current(t.Context()); len(at) != attempts || err != nil || got != issued[certificate] {
				t.Errorf("%d attempts at %v; certificate %v, %v", len(at), at, got, err)
			}
		}
		f(0, 1, 0)
		f(58*day, 1, 0)
		f(2*day, 3, 1) // the first renewal fails, and is repeated after a minute
		if early := 60*day - s.attempts()[1]; early < -time.Second || early > 90*day/50 {
			t.Errorf("renewed %v before a third of the life", early)
		}
		f(56*day, 3, 1)
	})
}

func TestExpiredCertificateIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		old := issue(t, time.Hour)
		if err := newScene(t, folder, nil).store.save(old); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		s := newScene(t, folder, func(int) (*tls.Certificate, error) { return nil, errRefused })
		s.Start()
		time.Sleep(time.Hour)
		if got, err := s.current(t.Context()); err != nil || !bytes.Equal(got.Certificate[0], old.Certificate[0]) || len(s.attempts()) == 0 {
			t.Errorf("%v after %d attempts", err, len(s.attempts()))
		}
	})
}

// TestFolder checks that a second process uses the files of the first, and files that appear.
func TestFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "sub", "acme")
		first, second := issue(t, 90*day), issue(t, 180*day)
		s := newScene(t, folder, func(int) (*tls.Certificate, error) { return first, nil })
		s.Start()
		synctest.Wait()
		key, err := s.store.accountKey()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.store.accountKey(); err != nil || !key.(*ecdsa.PrivateKey).Equal(again) {
			t.Errorf("another account: %v", err)
		}
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != 2 {
			t.Errorf("files %v, %v", files, err)
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
			}
		}
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder has mode %v, %v", info.Mode(), err)
		}
		never := func(int) (*tls.Certificate, error) { return nil, errRefused }
		other := newScene(t, folder, never)
		other.Start()
		got, err := other.current(t.Context())
		if err != nil || !bytes.Equal(got.Certificate[0], first.Certificate[0]) {
			t.Fatalf("the stored certificate is not used: %v", err)
		}
		if err := s.store.save(second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(60 * day)
		synctest.Wait()
		if got, err = other.current(t.Context()); err != nil || !bytes.Equal(got.Certificate[0], second.Certificate[0]) || len(other.attempts()) > 0 {
			t.Errorf("the certificate of another process is not used: %v, %d attempts", err, len(other.attempts()))
		}
		if err := os.WriteFile(s.store.cert, []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
		damaged := newScene(t, folder, never)
		if damaged.cert.Load() != nil || !strings.Contains(damaged.log(), "can't be used") {
			t.Errorf("a damaged file: %s", damaged.log())
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, t.TempDir(), nil)
		s.obtain = func(ctx context.Context, _ int) (*tls.Certificate, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		s.Start()
		synctest.Wait()
		s.Close()
		s.Close()
		if s.log() != "" {
			t.Errorf("log: %s", s.log())
		}
		newScene(t, t.TempDir(), nil).Close() // not started
	})
}

func TestChallenges(t *testing.T) {
	var m Manager
	hello := &tls.ClientHelloInfo{ServerName: "A.example", SupportedProtos: []string{acme.ALPNProto}}
	c := &tls.Certificate{}
	if _, err := m.Certificate(hello); err == nil {
		t.Error("a certificate without a challenge")
	}
	end := m.challenges.offerCertificate("a.Example", c)
	if got, err := m.Certificate(hello); got != c || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	end()
	if _, err := m.Certificate(hello); err == nil {
		t.Error("a certificate after the challenge")
	}
	end = m.challenges.offerResponse("/x", "y")
	if got, ok := m.Response("/x"); got != "y" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
	end()
	if _, ok := m.Response("/x"); ok {
		t.Error("a response after the challenge")
	}
}
