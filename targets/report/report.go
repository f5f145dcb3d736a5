// Package report is how a run speaks: its events, its exit code, its record.
//
// Everything that a person or a program learns about a run goes through here.
// Results go to standard output and nothing else does; events go to standard
// error, as prefixed lines, as a live line on a terminal, or as one JSON object
// a line; the record of a run is one JSON document.
package report
