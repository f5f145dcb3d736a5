package report

import (
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAdviceNamesWhoNeedsIt(t *testing.T) {
	fault := func(hint string) error { return &Fault{What: "x", Hint: hint} }
	var all []error
	for i := range 7 {
		all = append(all, &Owned{fmt.Sprintf("m%d", i), fault("open the port")})
	}
	all = append(all, &Owned{"db", &Exit{Code: Failed, Err: errors.Join(fault("look"), fault("look"))}}, fault("of all"))
	var lines []string
	for _, h := range Advice(errors.Join(all...)) {
		lines = append(lines, h.String())
	}
	assert.DeepEqual(t, lines, []string{"open the port (m0, m1, m2, m3, m4 and 2 more)", "look (db)", "of all"})
	assert.DeepEqual(t, Hints(errors.Join(all...)), []string{"open the port", "look", "of all"})
}
