package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// curl implements the part of curl that the scripts use: -H, -X, -d, -s, -sS, -i and a URL. If
// $SOCKET is set it connects to that Unix socket regardless of the host, and waits until there is a
// listener.
func curl() {
	if err := runCurl(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(7)
	}
}

func runCurl(args []string) error {
	method, url, body, head := "", "", "", false
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		switch a := args[i]; a {
		case "-H", "-X", "-d":
			i++
			switch value := args[i]; a {
			case "-H":
				name, text, _ := strings.Cut(value, ":")
				header.Add(name, strings.TrimSpace(text))
			case "-X":
				method = value
			default:
				body = value
			}
		case "-i":
			head = true
		case "-s", "-sS":
		default:
			url = a
		}
	}
	if method == "" {
		method = http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
	}
	if body != "" && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	}
	client := http.Client{Transport: &http.Transport{DialContext: dialSocket}}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if head {
		fmt.Println(resp.Status)
		if err := resp.Header.Write(os.Stdout); err != nil {
			return err
		}
		fmt.Println()
	}
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

func dialSocket(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	socket := os.Getenv("SOCKET")
	if socket == "" {
		return d.DialContext(ctx, network, address)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := d.DialContext(ctx, "unix", socket)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		<-time.After(10 * time.Millisecond)
	}
}
