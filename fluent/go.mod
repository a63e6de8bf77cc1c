module github.com/kasoku/kasoku/fluent

go 1.24

require (
	github.com/klauspost/compress v1.17.3
	github.com/tinylib/msgp v1.2.4
	pgregory.net/rapid v1.1.0
)

require github.com/philhofer/fwd v1.1.3-0.20240916144458-20a13a1f6b7c // indirect
