package policy

import (
	"strconv"
	"strings"
)

// CacheStatus is what Cache-Status says of one answer (RFC 9211).
type CacheStatus struct {
	// Reason tells how the request was answered.
	Reason Reason
	// Forwarded says that the origin's answer was waited for; Storing then tells
	// what became of it, and FwdStatus is its status if that is not the one
	// which the client gets, else 0.
	Forwarded bool
	Storing   Reason
	// Detail says more than Reason does, if its Status has none. It is a token.
	Detail    string
	FwdStatus int
	// Collapsed says that the request took the answer that another had asked for.
	Collapsed bool
	// Timed says that a stored response is behind the answer, which is fresh
	// for TTL seconds more.
	Timed bool
	TTL   int64
}

// Append appends the member of the list, from "kasoku" on; nothing for an answer
// of Kasoku's own.
func (s CacheStatus) Append(dst []byte) []byte {
	status := Reasons[s.Reason].Status
	if status == "" {
		return dst
	}
	dst = append(append(dst, "kasoku; "...), status...)
	detailed := strings.Contains(status, "detail=")
	if s.Detail != "" && !detailed {
		dst, detailed = append(append(dst, "; detail="...), s.Detail...), true
	}
	if s.Forwarded {
		dst = s.appendForwarded(dst, detailed)
	}
	if s.Timed {
		dst = strconv.AppendInt(append(dst, "; ttl="...), s.TTL, 10)
	}
	return dst
}

// appendForwarded says what came of asking the origin. A detail is there once:
// how the request was answered says more than why the response was not kept.
func (s CacheStatus) appendForwarded(dst []byte, detailed bool) []byte {
	if s.FwdStatus != 0 {
		dst = strconv.AppendInt(append(dst, "; fwd-status="...), int64(s.FwdStatus), 10)
	}
	if s.Collapsed {
		dst = append(dst, "; collapsed"...)
	}
	for parameter := range strings.SplitSeq(Reasons[s.Storing].Status, "; ") {
		switch name, _, _ := strings.Cut(parameter, "="); name {
		case "", "hit", "fwd", "ttl": // of a reason that also says how requests are answered
			continue
		case "detail":
			if detailed {
				continue
			}
		}
		dst = append(append(dst, "; "...), parameter...)
	}
	return dst
}
