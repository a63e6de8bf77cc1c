// Package top shows what running Kasokus do, on a terminal: services, tables and nodes with their
// rates, hit ratios and times, and explanations of single requests.
//
// Data flows one way. A [Source] is polled for reports; the difference between two reports is a
// summary of the time between them, for all nodes together; a screen is a function of the summary,
// the state of the keyboard and the size of the window. Only the model and [Run] depend on a terminal.
//
// All text of clients, such as names of tables, passes through shown before it is on a screen, so
// that it has no effect on the terminal.
package top
