package tofu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/report"
)

// lost writes down what a run made that was killed before its state was written.
func lost(t *testing.T, b *bench, address, id string) {
	t.Helper()
	lostBy(t, b, "killed", address, id)
}

func lostBy(t *testing.T, b *bench, run, address, id string) {
	t.Helper()
	path := filepath.Join(string(b.dir), "events-"+run+".jsonl")
	assert.NilError(t, ledger.Start(path, run))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	assert.NilError(t, err)
	line := `{"type":"apply_start","hook":{"resource":{"addr":"` + address + `","resource_type":"terraform_data"},"action":"create"}}` + "\n"
	if id != "" {
		line += `{"type":"apply_complete","hook":{"resource":{"addr":"` + address + `","resource_type":"terraform_data"},"action":"create","id_key":"id","id_value":"` + id + `"}}` + "\n"
	}
	_, err = file.WriteString(line)
	assert.NilError(t, err)
	assert.NilError(t, file.Close())
}

func TestOrphans(t *testing.T) {
	const third = "terraform_data.thing[2]"
	for _, c := range []struct {
		name   string
		id     string // of the third object, which a killed run made; empty is unknown
		keys   Keys
		adopts bool
		says   string // of the refusal; empty is none
		third  string // its id afterwards; empty is another
	}{
		{"is refused by name and id", "lost-1", Keys{Orphans: "refuse"}, false, third + " (id lost-1)", ""},
		{"is taken in", "lost-1", Keys{Orphans: "import"}, false, "", "lost-1"},
		{"is replaced", "lost-1", Keys{Orphans: "replace"}, false, "", ""},
		{"is found by its provider", "lost-1", Keys{Orphans: "refuse"}, true, "", ""},
		{"is forgotten", "lost-1", Keys{Orphans: "refuse", Abandon: "killed"}, false, "", ""},
		{"is not forgotten for another run's sake", "lost-1", Keys{Orphans: "refuse", Abandon: "another"}, false, third, ""},
		{"of unknown fate is refused", "", Keys{Orphans: "import"}, false, third + " (begun, fate unknown)", ""},
		{"of unknown fate is forgotten", "", Keys{Orphans: "import", Abandon: "killed"}, false, "", ""},
		{"of unknown fate is found by its provider", "", Keys{Orphans: "refuse"}, true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			b.cold(2)
			lost(t, b, third, c.id)
			d := objects(3)
			if c.adopts {
				d.Adopts = func(o ledger.Object) bool { return o.Type == "terraform_data" }
			}
			before := b.State()
			result, err := b.engine(c.keys).Apply(t.Context(), d)
			if c.says != "" {
				refusedFor(t, err, c.says)
				assert.Equal(t, b.State(), before)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, len(result.Objects), 3)
			_, s := b.judged()
			assert.Equal(t, s.Holds(third, "lost-1"), c.third != "")
			_, err = b.engine(Keys{Orphans: "refuse"}).Apply(t.Context(), d)
			assert.NilError(t, err, "it is told once")
		})
	}
	t.Run("is taken in by hand", func(t *testing.T) {
		b := newBench(t, fakestate.Strict)
		b.cold(2)
		lost(t, b, third, "lost-1")
		_, err := b.engine(Keys{Orphans: "refuse"}).Import(t.Context(), objects(3), third, "lost-1")
		assert.NilError(t, err)
		result, err := b.engine(Keys{Orphans: "refuse"}).Apply(t.Context(), objects(3))
		assert.NilError(t, err)
		assert.Equal(t, result.Plan.Add, 0)
	})
}

// TestTwoRunsAreForgottenOneAfterTheOther is of what two runs left, of which the caller
// can name one at a time.
func TestTwoRunsAreForgottenOneAfterTheOther(t *testing.T) {
	for _, c := range []struct{ name, id, orphans string }{
		{"whose objects are gone", "lost", "refuse"},
		{"whose objects are of unknown fate", "", "import"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			b.cold(1)
			lostBy(t, b, "one", "terraform_data.thing[1]", c.id)
			lostBy(t, b, "two", "terraform_data.thing[2]", c.id)
			_, err := b.engine(Keys{Orphans: c.orphans, Abandon: "one"}).Apply(t.Context(), objects(3))
			refusedFor(t, err, "terraform_data.thing[2]")
			assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), "\n"), "STATE_ABANDON=two"), "%v", report.Hints(err))
			result, err := b.engine(Keys{Orphans: c.orphans, Abandon: "two"}).Apply(t.Context(), objects(3))
			assert.NilError(t, err)
			assert.Equal(t, result.Plan.Add, 2)
		})
	}
}

// TestEveryRunIsNamed is of what several runs left: each must be abandoned by its name.
func TestEveryRunIsNamed(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(1)
	lostBy(t, b, "one", "terraform_data.thing[1]", "lost")
	lostBy(t, b, "two", "terraform_data.thing[2]", "")
	lostBy(t, b, "three", "terraform_data.thing[3]", "lost")
	for orphans, says := range map[string]string{
		"refuse": "STATE_ABANDON=one, then STATE_ABANDON=two, then STATE_ABANDON=three, or take in",
		"import": "those of unknown fate, and with STATE_ABANDON=two",
	} {
		_, err := b.engine(Keys{Orphans: orphans}).Apply(t.Context(), objects(4))
		refusedFor(t, err, "terraform_data.thing[3]")
		assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), "\n"), says), "%v", report.Hints(err))
	}
}

// TestNoneOfManyIsLeftOut is of more lost objects than a line has room for.
func TestNoneOfManyIsLeftOut(t *testing.T) {
	const many = 30
	b := newBench(t, fakestate.Strict)
	b.cold(1)
	_, older := b.judged()
	_, err := b.engine(Keys{}).Apply(t.Context(), objects(many))
	assert.NilError(t, err)
	_, newer := b.judged()
	address := func(i int) string { return fmt.Sprintf("terraform_data.thing[%d] (", i) }

	t.Run("that a leftover tells of", func(t *testing.T) {
		dir, err := rundir.Open(t.Context(), string(b.dir), "killed", nil)
		assert.NilError(t, err)
		_, err = dir.Keep(newer, nil)
		assert.NilError(t, err)
		assert.NilError(t, dir.Close(false))
		b.Set(older.Raw, nil)
		_, err = b.engine(Keys{}).Apply(t.Context(), objects(1))
		refusedFor(t, err, "neither began from nor wrote")
		for i := range many - 1 {
			assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), ""), address(i+1)))
		}
	})
	t.Run("that a killed run made", func(t *testing.T) {
		b := newBench(t, fakestate.Strict)
		b.cold(1)
		for i := range many - 1 {
			lostBy(t, b, fmt.Sprint("run", i), strings.TrimSuffix(address(i+1), " ("), "lost")
		}
		_, err := b.engine(Keys{Orphans: "refuse"}).Apply(t.Context(), objects(1))
		for i := range many - 1 {
			refusedFor(t, err, address(i+1))
		}
	})
}

// TestWhatAnotherMadeIsNotOurs is of an object of unknown fate at an address at which
// somebody else has made one since: the one in the state need not be it.
func TestWhatAnotherMadeIsNotOurs(t *testing.T) {
	const second = "terraform_data.thing[1]"
	for _, c := range []struct {
		name   string
		others bool // somebody else wrote the state that has it
		verb   string
	}{
		{"its own run has written the state", false, Apply},
		{"somebody else has", true, Apply},
		{"somebody else has, and another is taken in by hand", true, Import},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			b.cold(2)
			lost(t, b, second, "")
			if !c.others {
				_, s := b.judged()
				dir, err := rundir.Open(t.Context(), string(b.dir), "killed", nil)
				assert.NilError(t, err)
				assert.NilError(t, dir.Know(s))
				assert.NilError(t, dir.Close(false))
			}
			if c.verb == Import {
				_, err := b.engine(Keys{Orphans: "refuse"}).Import(t.Context(), objects(3), "terraform_data.thing[2]", "taken-in")
				assert.NilError(t, err)
			}
			_, err := b.engine(Keys{Orphans: "refuse"}).Apply(t.Context(), objects(3))
			if c.others {
				refusedFor(t, err, second+" (begun, fate unknown)")
				assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), "\n"), "may be another object"))
				return
			}
			assert.NilError(t, err)
		})
	}
}

// TestARefreshReplacesNothing must not take in what is to be replaced: no later run
// would know that it is.
func TestARefreshReplacesNothing(t *testing.T) {
	const third = "terraform_data.thing[2]"
	b := newBench(t, fakestate.Strict)
	replacing := Keys{Orphans: replaceOrphans}
	b.cold(2)
	_, err := b.engine(replacing).Refresh(t.Context(), objects(3))
	assert.NilError(t, err, "there is nothing to replace")
	lost(t, b, third, "lost-1")
	before := b.State()
	_, err = b.engine(replacing).Refresh(t.Context(), objects(3))
	refusedFor(t, err, third+" (id lost-1)")
	assert.Equal(t, b.State(), before)
	_, err = b.engine(replacing).Apply(t.Context(), objects(3))
	assert.NilError(t, err)
	_, s := b.judged()
	assert.Equal(t, len(s.Objects()), 3)
	assert.Assert(t, !s.Holds(third, "lost-1"))

	t.Run("and takes in what is sound", func(t *testing.T) {
		b := newBench(t, fakestate.Strict)
		b.cold(2)
		lost(t, b, third, "lost-1")
		result, err := b.engine(Keys{Orphans: importOrphans}).Refresh(t.Context(), objects(3))
		assert.NilError(t, err)
		assert.Equal(t, len(result.Objects), 3)
	})
}

// TestWhatIsAbandonedIsForgottenBeforeARefusal is of two names that must be said one
// after the other, of which the first is refused for want of the second.
func TestWhatIsAbandonedIsForgottenBeforeARefusal(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(1)
	raw, err := state.Marked([]byte(b.State()), &state.Marker{Run: "r1", Host: "elsewhere", Dir: "/d"})
	assert.NilError(t, err)
	b.Set(raw, nil)
	lostBy(t, b, "here", "terraform_data.thing[1]", "")
	_, err = b.engine(Keys{Phase: cold, Orphans: "refuse", Abandon: "here"}).Apply(t.Context(), objects(2))
	refusedFor(t, err, "a bootstrap that has not ended: run r1")
	_, err = b.engine(Keys{Phase: cold, Orphans: "refuse", Abandon: "r1"}).Apply(t.Context(), objects(2))
	assert.NilError(t, err)
}

// TestWhatAnAbandonedBootstrapLeftIsPutAside is of a name that is still said when another
// run has gone on with that bootstrap.
func TestWhatAnAbandonedBootstrapLeftIsPutAside(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(1)
	_, older := b.judged()
	_, err := b.engine(Keys{}).Apply(t.Context(), objects(2))
	assert.NilError(t, err)
	_, newer := b.judged()
	m := &state.Marker{Run: "r1", Host: "here", Dir: string(b.dir)}
	begun, err := older.WithMarker(m)
	assert.NilError(t, err)
	b.Set(begun.Raw, nil)
	dir, err := rundir.Open(t.Context(), string(b.dir), "killed", nil)
	assert.NilError(t, err)
	assert.NilError(t, dir.Know(begun))
	_, err = dir.Keep(newer, m)
	assert.NilError(t, err)
	assert.NilError(t, dir.Close(false))
	_, err = b.engine(Keys{Phase: cold, Abandon: "r1"}).Apply(t.Context(), objects(1))
	assert.NilError(t, err)
	kept, err := filepath.Glob(string(b.dir) + "/aside-*/*")
	assert.NilError(t, err)
	assert.Equal(t, len(kept), 1)
	text, err := os.ReadFile(kept[0])
	assert.NilError(t, err)
	assert.Equal(t, string(text), string(newer.Raw))
}

func TestBootstrapElsewhereIsAbandonedByName(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	b.cold(2)
	raw, err := state.Marked([]byte(b.State()), &state.Marker{Run: "r1", Host: "elsewhere", Dir: "/d"})
	assert.NilError(t, err)
	for _, k := range []Keys{{Phase: cold}, {Phase: cold, Abandon: "r2"}, {Abandon: "r1"}} {
		b.Set(raw, nil)
		_, err := b.engine(k).Apply(t.Context(), objects(3))
		refusedFor(t, err, "a bootstrap that has not ended: run r1")
		assert.Equal(t, b.State(), string(raw))
	}
	result, err := b.engine(Keys{Phase: cold, Abandon: "r1"}).Apply(t.Context(), objects(3))
	assert.NilError(t, err)
	assert.Equal(t, result.Plan.Add, 1, "what its state tells of is kept")
	kind, _ := b.judged()
	assert.Equal(t, kind, state.Sound)
}
