package httpcache

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestPassAllocatesNothing sends requests that have to reach the origin over kept connections.
func TestPassAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates")
		return
	}
	body := strings.Repeat("x", 1500)
	answer := []byte("HTTP/1.1 200 OK\r\nDate: Sun, 01 Nov 2026 10:00:00 GMT\r\nCache-Control: no-store\r\nContent-Length: 1500\r\n\r\n" + body)
	for name, request := range map[string]string{
		"uncacheable":   "GET /a HTTP/1.1\r\nHost: site\r\nUser-Agent: any\r\nAccept: */*\r\n\r\n",
		"authorized":    "GET /b HTTP/1.1\r\nHost: site\r\nAuthorization: Basic eDp5\r\n\r\n",
		"no-store":      "GET /c HTTP/1.1\r\nHost: site\r\nCache-Control: no-store\r\n\r\n",
		"GET and body":  "GET /d HTTP/1.1\r\nHost: site\r\nContent-Length: 3\r\n\r\nabc",
		"OPTIONS":       "OPTIONS /e HTTP/1.1\r\nHost: site\r\n\r\n",
		"POST":          "POST /f HTTP/1.1\r\nHost: site\r\nContent-Length: 3\r\n\r\nabc",
		"DELETE":        "DELETE /g HTTP/1.1\r\nHost: site\r\n\r\n",
		"close to full": "POST /f HTTP/1.1\r\nHost: site\r\nContent-Length: 6000\r\n\r\n" + strings.Repeat("x", 6000),
	} {
		t.Run(name, func(t *testing.T) {
			s := newBareSite(t, func(r *bufio.Reader, w io.Writer) {
				length := 0
				for {
					line, err := r.ReadSlice('\n')
					switch {
					case err != nil:
						return
					case bytes.HasPrefix(line, []byte("Content-Length: ")):
						for _, digit := range bytes.TrimSpace(line[len("Content-Length: "):]) {
							length = 10*length + int(digit-'0')
						}
					case len(line) == 2:
						r.Discard(length)
						length = 0
						w.Write(answer)
					}
				}
			})
			c, buf, sent := s.dial(), make([]byte, 8<<10), []byte(request)
			ask := func() {
				if _, err := c.Write(sent); err != nil {
					t.Fatal(err)
				}
				for n := 0; !bytes.HasSuffix(buf[:n], answer[len(answer)-1500:]); {
					k, err := c.Read(buf[n:])
					if n += k; err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 10 {
				ask()
			}
			if n := testing.AllocsPerRun(3000, ask); n >= 1 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
