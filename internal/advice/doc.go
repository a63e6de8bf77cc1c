// Package advice turns figures of services into suggested lines of configuration. Its rules are
// functions of their input; each suggestion has its reason in figures, the expected effect and how
// that was estimated, and the promises of the cache that it would weaken.
package advice
