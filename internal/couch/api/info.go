package api

import (
	"encoding/json"
	"io"
)

// DatabaseInfo identifies a database, and has the end of its feed.
type DatabaseInfo struct {
	StartTime json.RawMessage `json:"instance_start_time"`
	Seq       json.RawMessage `json:"update_seq"`
}

// ReadDatabaseInfo reads the answer to a GET of a database.
func ReadDatabaseInfo(r io.Reader) (info DatabaseInfo, err error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxChange))
	if err != nil {
		return info, err
	}
	if json.Unmarshal(text, &info) != nil || len(info.Seq) == 0 {
		return info, ErrMalformed
	}
	return info, nil
}
