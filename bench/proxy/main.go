// Command proxy is a plain sign-and-forward proxy, the peer of bbpd's routes: for each POST
// /GetItemJSON it decodes the request, signs a request for DynamoDB, sends it to the origin
// over kept connections, decodes the answer and writes its item as plain JSON. It works like
// bbpd, with the standard library and the AWS SDK's signer, and caches nothing.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/kasoku/kasoku/bench/internal/dataset"
)

func main() {
	origin := flag.String("origin", "", "forward to this `address`")
	flag.Parse()
	if err := serve(*origin); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func serve(origin string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Println(listener.Addr())
	p := &proxy{
		url:    "http://" + origin + "/",
		signer: v4.NewSigner(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 250, ResponseHeaderTimeout: 20 * time.Second}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /GetItemJSON", p.getItem)
	return http.Serve(listener, mux)
}

type proxy struct {
	url    string
	signer *v4.Signer
	client *http.Client
}

// attribute is a value with its type.
type attribute struct {
	S    *string              `json:",omitempty"`
	N    json.Number          `json:",omitempty"`
	B    []byte               `json:",omitempty"`
	SS   []string             `json:",omitempty"`
	NS   []json.Number        `json:",omitempty"`
	L    []attribute          `json:",omitempty"`
	M    map[string]attribute `json:",omitempty"`
	BOOL *bool                `json:",omitempty"`
	NULL bool                 `json:",omitempty"`
}

func (p *proxy) getItem(w http.ResponseWriter, r *http.Request) {
	var request struct {
		TableName string
		Key       map[string]attribute
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := json.Marshal(request)
	if err == nil {
		body, err = p.ask(r.Context(), "GetItem", body)
	}
	var answer struct{ Item map[string]attribute }
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, err := json.Marshal(map[string]any{"Item": plainMap(answer.Item)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

// ask signs a request and returns the body of the answer, whose status must be 200.
func (p *proxy) ask(ctx context.Context, operation string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", dataset.TargetPrefix+operation)
	sum := sha256.Sum256(body)
	key := aws.Credentials{AccessKeyID: dataset.AccessKey, SecretAccessKey: dataset.SecretKey}
	if err := p.signer.SignHTTP(ctx, key, r, hex.EncodeToString(sum[:]), "dynamodb", dataset.Region, time.Now()); err != nil {
		return nil, err
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the origin answered %s: %s", resp.Status, answer)
	}
	return answer, err
}

func plainMap(m map[string]attribute) map[string]any {
	out := make(map[string]any, len(m))
	for name, v := range m {
		out[name] = v.plain()
	}
	return out
}

func (a *attribute) plain() any {
	switch {
	case a.S != nil:
		return *a.S
	case a.N != "":
		return a.N
	case a.B != nil:
		return a.B
	case a.SS != nil:
		return a.SS
	case a.NS != nil:
		return a.NS
	case a.BOOL != nil:
		return *a.BOOL
	case a.M != nil:
		return plainMap(a.M)
	case a.L != nil:
		list := make([]any, len(a.L))
		for i := range a.L {
			list[i] = a.L[i].plain()
		}
		return list
	}
	return nil
}
