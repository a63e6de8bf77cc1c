module example.com/program

go 1.26.0

require example.com/bare v0.0.0

replace example.com/bare => ./bare
