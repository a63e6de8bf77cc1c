// Command kasoku imports a module without a licence.
package main

import _ "example.com/bare"

func main() {}
