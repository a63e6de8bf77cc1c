package dax

// operations are the methods for data.
var operations = []method{
	{id: 263244906, name: "GetItem", args: 3, serve: (*call).getItem},
	{id: -2106490455, name: "PutItem", args: 4, serve: (*call).putItem},
	{id: 1425579023, name: "UpdateItem", args: 3, serve: (*call).updateItem},
	{id: 1013539361, name: "DeleteItem", args: 3, serve: (*call).deleteItem},
	{id: -931250863, name: "Query", args: 3, serve: (*call).query},
	{id: -1875390620, name: "Scan", args: 2, serve: (*call).scanItems},
	{id: -697851100, name: "BatchGetItem", args: 2, serve: (*call).batchGetItem},
	{id: 116217951, name: "BatchWriteItem", args: 2, serve: (*call).batchWriteItem},
	{id: 1866287579, name: "TransactGetItems", args: 4, serve: (*call).transactGetItems},
	{id: -1160037738, name: "TransactWriteItems", args: 9, serve: (*call).transactWriteItems},
}
