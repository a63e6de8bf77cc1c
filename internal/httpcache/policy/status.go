package policy

import (
	"strconv"
	"strings"
)

// CacheStatus is the Cache-Status member of an answer (RFC 9211).
type CacheStatus struct {
	// Reason is the reason for the answer.
	Reason Reason
	// Forwarded is set if the answer required the origin. Storing is then the reason for
	// storing its response or not, and FwdStatus its status if the client receives a
	// different one, otherwise 0.
	Forwarded bool
	Storing   Reason
	// Detail is added if the Status of Reason has no detail. It is a token.
	Detail    string
	FwdStatus int
	// Collapsed is set if the request was answered by another request's fill.
	Collapsed bool
	// Timed is set if the answer is from a stored response, which is fresh for TTL more
	// seconds.
	Timed bool
	TTL   int64
}

// Append appends the list member, beginning with "kasoku"; nothing for Kasoku's own answers.
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

// appendForwarded appends the parameters of a forwarded request. There is only one detail:
// the reason for the answer takes precedence over the reason for not storing.
func (s CacheStatus) appendForwarded(dst []byte, detailed bool) []byte {
	if s.FwdStatus != 0 {
		dst = strconv.AppendInt(append(dst, "; fwd-status="...), int64(s.FwdStatus), 10)
	}
	if s.Collapsed {
		dst = append(dst, "; collapsed"...)
	}
	for parameter := range strings.SplitSeq(Reasons[s.Storing].Status, "; ") {
		switch name, _, _ := strings.Cut(parameter, "="); name {
		case "", "hit", "fwd", "ttl": // of a reason that also describes answers
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
