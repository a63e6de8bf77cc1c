package nginxconf_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

func ExampleParse() {
	file, err := nginxconf.Parse("nginx.conf", []byte("upstream counts {\n\tserver 127.0.0.1:20000 weight=2;\n}\n"))
	if err != nil {
		panic(err)
	}
	for _, upstream := range file.Named("upstream") {
		server := upstream.Block.Last("server")
		fmt.Println(upstream.Arg(0), server.Line, server.Args)
	}
	// Output: counts 2 [127.0.0.1:20000 weight=2]
}
