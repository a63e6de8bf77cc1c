module github.com/kasoku/kasoku

go 1.26.0
