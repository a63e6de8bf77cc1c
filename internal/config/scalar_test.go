package config

import (
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	f := func(text string, want time.Duration, back string) {
		t.Helper()
		var d Duration
		if err := d.set(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if d.Std() != want || d.String() != back {
			t.Fatalf("%q is %s, written %s; want %s, written %s", text, d.Std(), d, want, back)
		}
	}
	f("5m", 5*time.Minute, "5m")
	f("30s", 30*time.Second, "30s")
	f("90s", 90*time.Second, "1m30s")
	f("1h", time.Hour, "1h")
	f("1h0m5s", time.Hour+5*time.Second, "1h0m5s")
	f("1.5h", 90*time.Minute, "1h30m")
	f("7d", 168*time.Hour, "168h")
	f("1d12h", 36*time.Hour, "36h")
	f("0", 0, "0s")
	f("0s", 0, "0s")
	f("250ms", 250*time.Millisecond, "250ms")

	bad := func(text string) {
		t.Helper()
		var d Duration
		if err := d.set(text); err == nil {
			t.Fatalf("%q is accepted as %s", text, d)
		}
	}
	bad("")
	bad("5")
	bad("1.5")
	bad("-5s")
	bad("five")
	bad("d")
	bad("1dd")
	bad("1d-1h")
	bad("65535d65535d")
	bad("2562047h1d")
	bad("9999999h")
}

func TestSize(t *testing.T) {
	f := func(text string, want Size, back string) {
		t.Helper()
		var s Size
		if err := s.set(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if s != want || s.String() != back {
			t.Fatalf("%q is %d, written %s; want %d, written %s", text, int64(s), s, int64(want), back)
		}
	}
	f("1GiB", 1<<30, "1GiB")
	f("1.5GiB", 3<<29, "1536MiB")
	f("256MiB", 256<<20, "256MiB")
	f("2GB", 2e9, "1953125KiB")
	f("4096", 4096, "4KiB")
	f("1000", 1000, "1000")
	f("10 MiB", 10<<20, "10MiB")
	f("7B", 7, "7")
	f("0", 0, "0")

	bad := func(text string) {
		t.Helper()
		var s Size
		if err := s.set(text); err == nil {
			t.Fatalf("%q is accepted as %s", text, s)
		}
	}
	bad("")
	bad("GiB")
	bad("-1MiB")
	bad("NaN")
	bad("inf")
	bad("1GiBs")
	bad("9000000TiB")
	bad("1e300GiB")
}

func TestAddress(t *testing.T) {
	f := func(text string, loopback bool) {
		t.Helper()
		var a Address
		if err := a.set(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if a.Loopback() != loopback {
			t.Fatalf("Loopback of %s is %v", a, a.Loopback())
		}
	}
	f("127.0.0.1:8000", true)
	f("127.9.9.9:0", true)
	f("localhost:80", true)
	f("unix:/run/kasoku.sock", true)
	f("[::1]:80", true)
	f("[::ffff:127.0.0.1]:80", true)
	f(":8000", false)
	f("0.0.0.0:8000", false)
	f("[::]:8000", false)
	f("192.0.2.1:8000", false)
	f("cache.example:8000", false)

	bad := func(text string) {
		t.Helper()
		var a Address
		if err := a.set(text); err == nil {
			t.Fatalf("%q is accepted", text)
		}
	}
	bad("")
	bad("8000")
	bad("127.0.0.1")
	bad("unix:")
	bad("127.0.0.1:http")
	bad("127.0.0.1:65536")
	bad("127.0.0.1:080")
	bad("http://127.0.0.1:80")
	bad("a b:80")
}

func TestAddressesOverlap(t *testing.T) {
	f := func(a, b Address, want bool) {
		t.Helper()
		if a.overlaps(b) != want || b.overlaps(a) != want {
			t.Fatalf("%s and %s: overlap %v", a, b, a.overlaps(b))
		}
	}
	f("127.0.0.1:80", "127.0.0.1:80", true)
	f("127.0.0.1:80", "127.0.0.1:81", false)
	f("127.0.0.1:80", "127.0.0.2:80", false)
	f("localhost:80", "127.0.0.1:80", true)
	f(":80", "127.0.0.1:80", true)
	f("[::]:80", "[::1]:80", true)
	f("127.0.0.1:0", "127.0.0.1:0", false)
	f("unix:/a", "unix:/a", true)
	f("unix:/a", "unix:/b", false)
	f("unix:/a", ":80", false)
}

func TestURL(t *testing.T) {
	f := func(text string, ok bool) {
		t.Helper()
		var u URL
		if err := u.set(text); (err == nil) != ok {
			t.Fatalf("%q: %v", text, err)
		}
	}
	f("http://127.0.0.1:8001", true)
	f("https://dynamodb.eu-west-1.amazonaws.com", true)
	f("https://host/prefix", true)
	f("127.0.0.1:8001", false)
	f("host", false)
	f("ftp://host", false)
	f("http:host", false)
	f("http://", false)
	f("http://user:pw@host", false)
	f("http://host/?q=1", false)
	f("http://host/#f", false)
	f("embedded:./data", false)
}

func TestOrigin(t *testing.T) {
	f := func(text string, embedded bool, dir, problem string) {
		t.Helper()
		var o Origin
		err := o.set(text)
		if problem != "" {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Fatalf("%q: %v; want %q", text, err, problem)
			}
			return
		}
		if err != nil || o.String() != text || o.Embedded() != embedded || o.Dir() != dir {
			t.Fatalf("%q: %v, %q, embedded %t in %q; want %t in %q", text, err, o, o.Embedded(), o.Dir(), embedded, dir)
		}
	}
	f("http://127.0.0.1:8001", false, "", "")
	f("embedded:./data", true, "./data", "")
	f("embedded:/var/lib/kasoku", true, "/var/lib/kasoku", "")
	f("embedded:memory", true, "", "")
	f("embedded:./memory", true, "./memory", "")
	f("embedded:", false, "", "needs the path of a directory")
	f("embedded", false, "", "or embedded:DIR or embedded:memory")
	f("ftp://host", false, "", "is no URL of an HTTP server")
}

func TestRegionOf(t *testing.T) {
	f := func(origin Origin, want string) {
		t.Helper()
		if got := regionOf(origin); got != want {
			t.Fatalf("regionOf(%s) = %q; want %q", origin, got, want)
		}
	}
	f("https://dynamodb.ap-northeast-1.amazonaws.com", "ap-northeast-1")
	f("https://dynamodb.cn-north-1.amazonaws.com.cn", "cn-north-1")
	f("https://dynamodb-fips.us-east-1.amazonaws.com:443", "us-east-1")
	f("https://dynamodb.us-east-1.api.aws", "us-east-1")
	f("https://123.dynamodb.us-east-1.amazonaws.com", "us-east-1")
	f("http://127.0.0.1:8001", "")
	f("https://dynamodb.us-east-1.amazonaws.com.evil.example", "")
	f("embedded:./data", "us-east-1")
}

func TestAdvertised(t *testing.T) {
	f := func(text, host string, port uint16) {
		t.Helper()
		var a Advertised
		if err := a.set(text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if h, p := a.Split(); h != host || p != port || a.String() != text {
			t.Fatalf("%q is %q and %d", text, h, p)
		}
	}
	f("10.0.0.5:8111", "10.0.0.5", 8111)
	f("10.0.0.5", "10.0.0.5", 0)
	f("dax.example.com:19111", "dax.example.com", 19111)
	f("dax.example.com", "dax.example.com", 0)
	f("[2001:db8::5]:8111", "2001:db8::5", 8111)
	f("2001:db8::5", "2001:db8::5", 0)

	bad := func(text string) {
		t.Helper()
		var a Advertised
		if err := a.set(text); err == nil {
			t.Fatalf("%q is accepted", text)
		}
	}
	bad("")
	bad(":8111")
	bad("host:")
	bad("host:0")
	bad("host:08111")
	bad("host:65536")
	bad("dax://host:8111")
	bad("a:b:c")
	bad("a b")
	bad("0.0.0.0")
	bad("[::]:8111")
	bad("[::ffff:0.0.0.0]:8111")
	bad("fe80::1%eth0")
}
