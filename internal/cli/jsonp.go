package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// mustJSONPFilter is the filter that j asks for, nil if there is none, of a configuration that
// was checked.
func mustJSONPFilter(j *config.JSONP) *jsonp.Filter {
	f, err := jsonpFilter(j)
	if err != nil {
		panic("cli: " + err.Error())
	}
	return f
}

// jsonpFilter is the filter that j asks for; nil if there is none.
func jsonpFilter(j *config.JSONP) (*jsonp.Filter, error) {
	if j == nil {
		return nil, nil
	}
	return jsonp.New(j.Filter())
}
