package tofu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/provider"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestAnOmissionRemovesNothing takes declarations away while the state holds what
// they made: by a provider that stays configured, and by one that does not.
func TestAnOmissionRemovesNothing(t *testing.T) {
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	const head = `"terraform":{"required_providers":{"files":{"source":"` + address + `"}}},"provider":{"files":{}}`
	const rest = `"terraform_data":{"machine":{"input":"web"}}`
	const changed = `"terraform_data":{"machine":{"input":"changed"},"other":{"input":"made"}}`
	for _, c := range []struct {
		name, stays string // lifecycle of what is declared at first
		key         env.Secret
		keys        Keys
		unset       bool // the provider is not configured any more
		more        bool // something else is to change as well
		verb        string
		ends        report.Code
		says        string
		there       bool // the file, afterwards
		objects     int
	}{
		{name: "nothing said", verb: Apply, ends: report.Refused, says: "it holds what nothing declares any more: files_file.data", there: true, objects: 2},
		{name: "nothing said of what stays", stays: `,"lifecycle":{"destroy":false}`, verb: Apply, ends: report.Refused, says: "files_file.data", there: true, objects: 2},
		{name: "nothing said to destroy", verb: Destroy, ends: report.Refused, says: "files_file.data", there: true, objects: 2},
		{name: "nothing said to refresh", verb: Refresh, ends: report.Refused, says: "files_file.data", there: true, objects: 2},
		{name: "no provider", unset: true, verb: Apply, ends: report.Refused, says: "files_file.data", there: true, objects: 2},
		{name: "forgotten", keys: Keys{Forget: env.Names{"files_file.data"}}, verb: Apply, there: true, objects: 1},
		{name: "forgotten without a provider", unset: true, keys: Keys{Forget: env.Names{"files_file.data"}}, verb: Apply, there: true, objects: 1},
		{name: "forgotten of an encrypted state", key: encryption("a passphrase of some length"), unset: true, keys: Keys{Forget: env.Names{"files_file.data"}}, verb: Apply, there: true, objects: 1},
		{name: "forgotten by a destroy", unset: true, keys: Keys{Forget: env.Names{"files_file.data"}}, verb: Destroy, there: true},
		{name: "removed", keys: Keys{Remove: env.Names{"files_file.data"}}, verb: Apply, objects: 1},
		{name: "removed though it was to stay", stays: `,"lifecycle":{"destroy":false}`, keys: Keys{Remove: env.Names{"files_file.data"}}, verb: Apply, objects: 1},
		{name: "removed after all else", more: true, keys: Keys{Remove: env.Names{"files_file.data"}}, verb: Apply, objects: 2},
		{name: "removed by a destroy", keys: Keys{Remove: env.Names{"files_file.data"}}, verb: Destroy},
		{
			name: "removed by a destroy though it was to stay", stays: `,"lifecycle":{"destroy":false}`, keys: Keys{Remove: env.Names{"files_file.data"}}, verb: Destroy,
			ends: report.Refused, says: "was declared to stay", there: true, objects: 2,
		},
		{name: "removed without a provider", unset: true, keys: Keys{Remove: env.Names{"files_file.data"}}, verb: Apply, ends: report.Refused, says: "nothing says where it is", there: true, objects: 2},
		{name: "both", keys: Keys{Forget: env.Names{"files_file.data"}, Remove: env.Names{"files_file.data"}}, verb: Apply, ends: report.Refused, says: "STATE_FORGET and by STATE_REMOVE", there: true, objects: 2},
		{name: "what is declared", keys: Keys{Forget: env.Names{"files_file.data", "terraform_data.machine"}}, verb: Apply, ends: report.Refused, says: "terraform_data.machine is declared", there: true, objects: 2},
		{name: "what is not there", keys: Keys{Forget: env.Names{"files_file.data", "files_file.other"}}, verb: Apply, there: true, objects: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fakestate.Strict)
			file := filepath.Join(t.TempDir(), "data")
			d := func(text string) Deployment {
				d := Deployment{
					Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config},
					Files: map[string][]byte{"main.tf.json": []byte(text)},
				}
				declared, err := Declares(d.Files)
				assert.NilError(t, err)
				d.Declared = declared
				return d
			}
			c.keys.Encryption = c.key
			_, err := b.engine(Keys{Phase: cold, Encryption: c.key}).Apply(t.Context(), d(`{`+head+`,"resource":{`+rest+`,"files_file":{"data":{"id":"`+file+`","text":"kept"`+c.stays+`}}}}`))
			assert.NilError(t, err)
			before := b.State()
			later := d(`{` + head + `,"resource":{` + rest + `}}`)
			if c.more {
				later = d(`{` + head + `,"resource":{` + changed + `}}`)
			}
			if c.unset {
				later = d(`{"resource":{` + rest + `}}`)
			}

			if c.verb == Apply {
				planned, err := b.engine(c.keys).Plan(t.Context(), later)
				assert.Equal(t, report.CodeOf(err), c.ends)
				if err == nil {
					assert.Assert(t, planned.Plan.Changed)
					assert.Check(t, cmp.Contains(planned.Plan.Text, "files_file.data will be "))
				}
				assert.Equal(t, b.State(), before, "a plan writes nothing")
				_, err = os.Stat(file)
				assert.NilError(t, err)
			}
			e := b.engine(c.keys)
			run := map[string]func() (*Result, error){
				Apply:   func() (*Result, error) { return e.Apply(t.Context(), later) },
				Destroy: func() (*Result, error) { return e.Destroy(t.Context(), later) },
				Refresh: func() (*Result, error) { return e.Refresh(t.Context(), later) },
			}[c.verb]
			result, err := run()
			assert.Equal(t, report.CodeOf(err), c.ends, "%v", err)
			if c.ends == report.Refused {
				refusedFor(t, err, c.says)
				assert.Equal(t, b.State(), before)
			} else {
				assert.Equal(t, len(result.Objects), c.objects)
				assert.Equal(t, b.State() == "", c.objects == 0)
				if c.more {
					assert.Equal(t, result.Plan.String(), "1 to add, 1 to change, 1 to remove")
					assert.Equal(t, result.Plan.Changes[len(result.Plan.Changes)-1].Address, "files_file.data")
				}
			}
			_, err = os.Stat(file)
			assert.Equal(t, err == nil, c.there)
			assert.Equal(t, b.Locked(), "")
		})
	}
}

// TestTheStateOfAnotherIsNoOmission must not have anybody forget what is another's.
func TestTheStateOfAnotherIsNoOmission(t *testing.T) {
	b := newBench(t, fakestate.Strict)
	d := func(name string) Deployment {
		d := Deployment{Name: "operator-" + name, Core: "terraform_data." + name, Files: map[string][]byte{
			"main.tf.json": []byte(`{"resource":{"terraform_data":{"` + name + `":{}}}}`),
		}}
		declared, err := Declares(d.Files)
		assert.NilError(t, err)
		d.Declared = declared
		return d
	}
	_, err := b.engine(Keys{Phase: cold}).Apply(t.Context(), d("web"))
	assert.NilError(t, err)
	before := b.State()
	k := Keys{Forget: env.Names{"terraform_data.web"}}
	_, applied := b.engine(k).Apply(t.Context(), d("db"))
	_, destroyed := b.engine(k).Destroy(t.Context(), d("db"))
	_, planned := b.engine(k).Plan(t.Context(), d("db"))
	_, refreshed := b.engine(k).Refresh(t.Context(), d("db"))
	_, imported := b.engine(k).Import(t.Context(), d("db"), "terraform_data.db", "db")
	for _, err := range []error{applied, destroyed, planned, refreshed, imported} {
		refusedFor(t, err, "it is the state of ")
		assert.ErrorContains(t, err, "this program deploys operator-db")
	}
	assert.Equal(t, b.State(), before)

	// What nothing declares any more is no reason not to take in what is declared.
	for i, name := range []string{"more", "last"} {
		own := d("web")
		own.Core = "" // else whatever is of its type is another's
		own.Files["main.tf.json"] = []byte(`{"resource":{"terraform_data":{"web":{},"` + name + `":{}}}}`)
		result, err := b.engine(Keys{}).Import(t.Context(), own, "terraform_data."+name, name)
		assert.NilError(t, err)
		assert.Equal(t, len(result.Objects), 2+i)
	}
}

// TestWhatStaysIsNotForgottenForAnother has an object that is declared to stay, and
// declared elsewhere: OpenTofu would forget it, and make an empty one.
func TestWhatStaysIsNotForgottenForAnother(t *testing.T) {
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	b, dir := newBench(t, fakestate.Strict), t.TempDir()
	d := func(name string) Deployment {
		return Deployment{
			Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config}, Keeps: true,
			Stays: func(kind string) bool { return kind == "files_file" },
			Files: map[string][]byte{"main.tf.json": []byte(`{"terraform":{"required_providers":{"files":{"source":"` + address + `"}}},"resource":{"files_file":{"data":{
				"id":"` + filepath.Join(dir, name) + `","text":"kept","lifecycle":{"destroy":false}}}}}`)},
		}
	}
	_, err = b.engine(Keys{Phase: cold}).Apply(t.Context(), d("here"))
	assert.NilError(t, err)
	before := b.State()
	_, err = b.engine(Keys{}).Apply(t.Context(), d("there"))
	refusedFor(t, err, "files_file.data would be")
	assert.Equal(t, b.State(), before)
}
