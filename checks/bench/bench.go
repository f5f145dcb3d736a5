// Package bench measures what a user waits for, each time beside something to
// compare it with in the same run. The measurements are benchmarks under the
// build tag "checks":
//
//	go tool mage checks:bench
package bench
