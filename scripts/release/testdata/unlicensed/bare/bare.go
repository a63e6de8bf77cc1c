// Package bare has no licence.
package bare
