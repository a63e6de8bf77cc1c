//go:build !linux

package config

// ofMachine returns 0: the machine's memory is not known here.
func ofMachine() Size { return 0 }
