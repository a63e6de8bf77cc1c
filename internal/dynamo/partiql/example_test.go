package partiql_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/partiql"
)

func ExampleParse() {
	s, ok := partiql.Parse([]byte(`SELECT name FROM "users"."by-age" WHERE age = ?`))
	fmt.Println(s.Kind, string(s.Table), string(s.Index), ok)
	// Output: select users by-age true
}

func ExampleTranslate() {
	c, err := partiql.Translate([]byte(`UPDATE users SET visits = visits + 1 WHERE id = 'alice'`), nil, false)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Kind, c.Table, c.Where)

	_, err = partiql.Translate([]byte(`SELECT * FORM users`), nil, false)
	fmt.Println(err)
	// Output:
	// update users (= [id] {"S":"alice"})
	// Statement wasn't well formed, can't be processed: Expected FROM after SELECT list
}
