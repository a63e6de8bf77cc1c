package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// mustJSONPFilter returns the filter for j, nil for none. The configuration must have been
// checked.
func mustJSONPFilter(j *config.JSONP) *jsonp.Filter {
	f, err := jsonpFilter(j)
	if err != nil {
		panic("cli: " + err.Error())
	}
	return f
}

// jsonpFilter returns the filter for j; nil for none.
func jsonpFilter(j *config.JSONP) (*jsonp.Filter, error) {
	if j == nil {
		return nil, nil
	}
	return jsonp.New(j.Filter())
}
