package dax

// operations are the methods that are about data.
var operations = []method{}

// work is what the operations keep from one request to the next.
type work struct{}
