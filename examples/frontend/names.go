package main

import (
	"cmp"
	"slices"
)

// near gives at most five of names that resemble one that does not exist, the
// nearest first.
func near(name string, names []string) []string {
	distances := map[string]int{}
	for _, other := range names {
		distances[other] = distance(name, other)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(other string) bool { return distances[other] > max(2, len(name)/4) })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(distances[a]-distances[b], cmp.Compare(a, b)) })
	return names[:min(len(names), 5)]
}

// distance counts the letters to insert, leave out or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := above
			if a[i] != b[j] {
				change++
			}
			above = row[j+1]
			row[j+1] = min(change, row[j]+1, above+1)
		}
	}
	return row[len(b)]
}
