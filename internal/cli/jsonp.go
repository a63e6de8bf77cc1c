package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// jsonpFilter is the filter that j asks for; nil if there is none.
func jsonpFilter(j *config.JSONP) (*jsonp.Filter, error) {
	if j == nil {
		return nil, nil
	}
	return jsonp.New(j.Filter())
}
