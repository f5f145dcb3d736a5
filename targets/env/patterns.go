package env

import "slices"

// patterns are the texts that a redactor replaces, none shorter than a secret may
// be.
type patterns struct {
	first   [256]bool           // their first bytes
	starts  map[string]bool     // what they start with, shorter than shortest
	buckets map[string][]string // by their first bytes, as many as shortest
	longest int                 // the length of the longest in bytes
}

func (p *patterns) add(pattern string) {
	start := pattern[:shortest]
	if slices.Contains(p.buckets[start], pattern) {
		return
	}
	p.buckets[start] = append(p.buckets[start], pattern)
	p.first[pattern[0]] = true
	for n := 1; n < shortest; n++ {
		p.starts[pattern[:n]] = true
	}
	p.longest = max(p.longest, len(pattern))
}

// scan appends to out what may be shown of text. Overlapping secrets become one
// [redacted]. Its first covered bytes belong to a secret that is shown already.
//
// Unless text is final, scan stops where a secret may have begun whose end is yet
// to come, and returns how much it has done and how much of the rest is covered.
func (p *patterns) scan(out, text []byte, covered int, final bool) ([]byte, int, int) {
	end := covered
	for i := range text {
		rest := text[i:]
		if p.first[rest[0]] {
			if !final && p.mayBegin(rest) {
				return out, i, max(0, end-i)
			}
			if n := p.match(rest); n > 0 {
				if i >= end {
					out = append(out, redacted...)
				}
				end = max(end, i+n)
			}
		}
		if i >= end {
			out = append(out, rest[0])
		}
	}
	return out, len(text), max(0, end-len(text))
}

// mayBegin says whether rest is the beginning, and not the whole, of a pattern.
func (p *patterns) mayBegin(rest []byte) bool {
	if len(rest) >= p.longest {
		return false
	}
	if len(rest) < shortest {
		return p.starts[string(rest)]
	}
	for _, pattern := range p.buckets[string(rest[:shortest])] {
		if len(pattern) > len(rest) && pattern[:len(rest)] == string(rest) {
			return true
		}
	}
	return false
}

// match returns the length of the longest pattern that rest starts with.
func (p *patterns) match(rest []byte) int {
	longest := 0
	if len(rest) < shortest {
		return longest
	}
	for _, pattern := range p.buckets[string(rest[:shortest])] {
		if len(pattern) > longest && len(pattern) <= len(rest) && pattern == string(rest[:len(pattern)]) {
			longest = len(pattern)
		}
	}
	return longest
}
