package dax

// operations are the methods that are about data.
var operations = []method{
	{id: 263244906, name: "GetItem", args: 3, serve: (*call).getItem},
	{id: -2106490455, name: "PutItem", args: 4, serve: (*call).putItem},
	{id: 1425579023, name: "UpdateItem", args: 3, serve: (*call).updateItem},
	{id: 1013539361, name: "DeleteItem", args: 3, serve: (*call).deleteItem},
}
