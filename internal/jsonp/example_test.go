package jsonp_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/jsonp"
)

func ExampleSession() {
	filter, err := jsonp.New(jsonp.Defaults(jsonp.Dotted))
	if err != nil {
		panic(err)
	}
	request := &http1.Request{Method: []byte("GET"), Path: []byte("/a"), RawQuery: []byte("id=7&callback=app.show")}
	body := []byte(`{"n":1}`)

	var s jsonp.Session
	if s.Admit(filter, request, nil) != jsonp.WrapIt {
		return
	}
	target, _ := s.Strip(filter, request.Path, request.RawQuery)
	scanned := s.Scan(body)
	if s.Judge(jsonp.Answer{Status: 200, ContentType: []byte("application/json"), Kind: scanned.Kind}) != jsonp.WrapIt {
		return
	}
	fmt.Printf("%s: %s\n", target, s.Wrap().Append(nil, body, &scanned))
	// Output: /a?id=7: /**/app.show({"n":1});
}
