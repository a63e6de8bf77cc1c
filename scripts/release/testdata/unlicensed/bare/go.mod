module example.com/bare

go 1.26.0
