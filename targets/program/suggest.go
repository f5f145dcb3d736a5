package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// unknown says of a name that no program has what comes nearest to it: the verbs of
// what it begins with, names that resemble it, or names that hold its words.
func (r *Registry) unknown(name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("unknown option %q; programs have none: their coordinates are environment variables, and plan is the verb that changes nothing", name)
	}
	text := fmt.Sprintf("unknown program %q", name)
	near := r.Close(name)
	if subject, verbs := r.verbsBefore(name); subject != "" && !resembles(name[len(subject)+1:], verbs) {
		return errors.New(text + "; the verbs of " + subject + " are " + strings.Join(verbs, ", "))
	}
	if len(near) == 0 {
		near = r.holding(strings.Split(name, "-"))
	}
	if len(near) > 0 {
		text += "; close are " + strings.Join(near, ", ")
	}
	return errors.New(text)
}

// verbsBefore gives the longest beginning of a name that is a program, and its verbs.
func (r *Registry) verbsBefore(name string) (subject string, verbs []string) {
	for at := strings.LastIndexByte(name, '-'); at > 0; at = strings.LastIndexByte(name[:at], '-') {
		p, ok := r.Find(name[:at])
		if !ok {
			continue
		}
		for _, other := range r.expand(r.groupOf(p.Group)) {
			if other.Verb != "" && other.Kind == p.Kind && other.Method == p.Method && other.Effect == p.Effect && other.Machine == p.Machine {
				verbs = append(verbs, other.Verb)
			}
		}
		slices.Sort(verbs)
		return name[:at], slices.Compact(verbs)
	}
	return "", nil
}

// resembles reports whether a word is one of others but for a slip or two.
func resembles(word string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return distance(word, other, 2) <= 2 })
}

// holding gives at most five names, the shortest first, that hold every one of words
// between their hyphens.
func (r *Registry) holding(words []string) []string {
	var names []string
	for _, p := range r.Programs() {
		own := strings.Split(p.Name, "-")
		if !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(own, strings.ToLower(word)) }) {
			names = append(names, p.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
	return names[:min(len(names), closeNames)]
}

// closeNames bounds how many names an error suggests.
const closeNames = 5

// Close gives at most five names that resemble one that does not exist, the
// nearest first, in the spelling that was used.
func (r *Registry) Close(name string) []string {
	asTarget := strings.ContainsRune(name, ':')
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	limit := max(2, len(name)/3)
	wanted := strings.ToLower(name)
	for _, p := range r.Programs() {
		for _, spelling := range []string{p.Name, p.Short} {
			if spelling == "" {
				continue
			}
			if asTarget {
				spelling = Target(p.Group, spelling)
			}
			if d := distance(wanted, strings.ToLower(spelling), limit); d <= limit {
				near = append(near, candidate{spelling, d})
			}
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, c := range near[:min(len(near), closeNames)] {
		names = append(names, c.name)
	}
	return names
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour that lead from a to b (optimal string alignment), or more
// than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, above, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, make([]int, len(b)+1)
	}
	return above[len(b)]
}
