// Package structure holds no code: its tests hold the repository to its own
// rules, which packages may know which, and where a package says what it is.
package structure
