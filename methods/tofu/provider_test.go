package tofu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/provider"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// files is a provider of files in a folder, which finds by name what is there.
type files struct{}

func (files) Metadata(_ context.Context, _ framework.MetadataRequest, r *framework.MetadataResponse) {
	r.TypeName = "files"
}
func (files) Schema(context.Context, framework.SchemaRequest, *framework.SchemaResponse)          {}
func (files) Configure(context.Context, framework.ConfigureRequest, *framework.ConfigureResponse) {}
func (files) DataSources(context.Context) []func() datasource.DataSource                          { return nil }

func (files) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return file{} }, func() resource.Resource { return note{file{}} }}
}

type file struct{}

type fileModel struct {
	ID    types.String `tfsdk:"id"`
	Text  types.String `tfsdk:"text"`
	Notes types.List   `tfsdk:"notes"` // none when it is written, and read back empty
}

func (file) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "files_file"
}

func (file) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":    schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"text":  schema.StringAttribute{Required: true},
		"notes": schema.ListAttribute{Computed: true, ElementType: types.StringType},
	}}
}

func (file) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var m fileModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	m.Notes = types.ListNull(types.StringType)
	r.Diagnostics.Append(r.State.Set(ctx, m)...)
	if err := os.WriteFile(m.ID.ValueString(), []byte(m.Text.ValueString()), 0o600); err != nil {
		r.Diagnostics.AddError("write", err.Error())
	}
}

func (file) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var m fileModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	m.Notes = types.ListNull(types.StringType)
	r.Diagnostics.Append(r.State.Set(ctx, m)...)
	if err := os.WriteFile(m.ID.ValueString(), []byte(m.Text.ValueString()), 0o600); err != nil {
		r.Diagnostics.AddError("write", err.Error())
	}
}

func (file) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var m fileModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	text, err := os.ReadFile(m.ID.ValueString())
	if err != nil {
		r.State.RemoveResource(ctx)
		return
	}
	m.Text, m.Notes = types.StringValue(string(text)), types.ListValueMust(types.StringType, []attr.Value{})
	r.Diagnostics.Append(r.State.Set(ctx, m)...)
}

func (file) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var m fileModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	_ = os.Remove(m.ID.ValueString())
}

func (file) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}

// note is a file that can't be imported, and whose schema is not its first.
type note struct{ resource.Resource }

func (note) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "files_note"
}

func (n note) Schema(ctx context.Context, q resource.SchemaRequest, r *resource.SchemaResponse) {
	n.Resource.Schema(ctx, q, r)
	r.Schema.Version = 3
}

func (note) UpgradeState(context.Context) map[int64]resource.StateUpgrader { return nil }

// TestReplaceWhatCannotBeImported has a killed run's object of which only the id is
// known removed and made again.
func TestReplaceWhatCannotBeImported(t *testing.T) {
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	for _, key := range []env.Secret{{}, encryption("a passphrase of some length")} {
		b := newBench(t, fakestate.Strict)
		dir := t.TempDir()
		d := func(n int) Deployment {
			return Deployment{
				Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config},
				Files: map[string][]byte{"main.tf": fmt.Appendf(nil, `
terraform {
  required_providers {
    files = { source = %q }
  }
}
module "notes" {
  source = "./notes"
  n      = %d
  dir    = %q
}`, address, n, dir), "notes/main.tf": fmt.Appendf(nil, `
terraform {
  required_providers {
    files = { source = %q }
  }
}
variable "n" {}
variable "dir" {}
resource "files_note" "note" {
  count = var.n
  id    = "${var.dir}/${count.index}"
  text  = "new"
}`, address)},
			}
		}
		ctx := t.Context()
		_, err = b.engine(Keys{Phase: cold, Encryption: key}).Apply(ctx, d(1))
		assert.NilError(t, err)
		const orphan = "module.notes.files_note.note[1]"
		path := filepath.Join(dir, "1")
		assert.NilError(t, os.WriteFile(path, []byte("of a run that was killed"), 0o600))
		lost(t, b, orphan, path)

		if !key.IsSet() { // which is slow
			_, err = b.engine(Keys{Orphans: "import"}).Apply(ctx, d(2))
			assert.ErrorContains(t, err, "does not support import")
			assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), " "), "STATE_ORPHANS=replace"))
			_, err = b.engine(Keys{}).Apply(ctx, d(2))
			refusedFor(t, err, orphan) // as before
		} else {
			before := b.State()
			b.Break(on("POST", fakestate.Answer{Status: 413}, false))
			_, err = b.engine(Keys{Orphans: "replace", Encryption: key}).Apply(ctx, d(2))
			assert.Equal(t, report.CodeOf(err), report.Failed, "%v", err)
			unwritten(t, string(b.dir), filepath.Join(dir, "0")) // which the state alone knows
			b.Break(nil)
			b.Set([]byte(before), nil)
		}
		result, err := b.engine(Keys{Orphans: "replace", Encryption: key}).Apply(ctx, d(2))
		assert.NilError(t, err)
		assert.Equal(t, result.Plan.Add, 1)
		assert.Equal(t, result.Plan.Remove, 1, "it is removed first")
		assert.Equal(t, len(result.Objects), 2)
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.Equal(t, string(text), "new")
		left, err := filepath.Glob(string(b.dir) + "/events-*")
		assert.NilError(t, err)
		assert.Equal(t, len(left), 0, "it is told once")
	}
}

// TestProviderBelowLongPaths has all that a run makes, in both kinds of work directory,
// below a folder of which no socket's path has room.
func TestProviderBelowLongPaths(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 102))
	assert.NilError(t, os.Mkdir(long, 0o700))
	t.Setenv("TMPDIR", long)
	t.Run("a run", func(t *testing.T) { providerOfThisProgram(t) })
	left, err := filepath.Glob(long + "/slipway-*")
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0, "%v", left)
}

func TestProviderOfThisProgram(t *testing.T) { providerOfThisProgram(t) }

func providerOfThisProgram(t *testing.T) {
	t.Helper()
	b := newBench(t, fakestate.Strict)
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	name := filepath.Join(t.TempDir(), "file")
	d := func(text string) Deployment {
		return Deployment{
			Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config},
			Files: map[string][]byte{"main.tf": fmt.Appendf(nil, `
terraform {
  required_providers {
    files = { source = %q }
  }
}
resource "files_file" "f" {
  id   = %q
  text = %q
}`, address, name, text)},
		}
	}
	ctx := t.Context()
	assert.NilError(t, b.engine(Keys{}).Validate(ctx, d("one")))
	_, err = b.engine(Keys{Phase: cold}).Apply(ctx, d("one"))
	assert.NilError(t, err)
	text, err := os.ReadFile(name)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "one")

	assert.NilError(t, os.WriteFile(name, []byte("drifted"), 0o600))
	planned, err := b.engine(Keys{}).Plan(ctx, d("one"))
	assert.NilError(t, err)
	assert.Equal(t, planned.Plan.Change, 1)
	changed, err := b.engine(Keys{}).Apply(ctx, d("two"))
	assert.NilError(t, err)
	assert.Equal(t, changed.Plan.Change, 1)

	_, err = b.engine(Keys{}).Destroy(ctx, d("two"))
	assert.NilError(t, err)
	_, err = os.Stat(name)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestAServerThatIsNotThere has OpenTofu fail in every verb that speaks with one, and in
// its own words.
func TestAServerThatIsNotThere(t *testing.T) {
	const address = "example.org/slipway/files"
	served, err := provider.Serve(t.Context(), address, providerserver.NewProtocol6(files{}))
	assert.NilError(t, err)
	defer served.Close()
	b := newBench(t, fakestate.Strict)
	asked := 0
	d := func(dir, why string) Deployment {
		return Deployment{
			Name: "web", Providers: map[string]tfexec.ReattachConfig{address: served.Config},
			Files: map[string][]byte{"main.tf": fmt.Appendf(nil, `
terraform {
  required_providers {
    files = { source = %q }
  }
}
resource "files_file" "f" {
  id   = "%s/a"
  text = "some"
}
resource "files_note" "n" {
  id   = "%s/b"
  text = "some"
}`, address, dir, dir)},
			Reach: func(context.Context) error {
				asked++
				if why == "" {
					return nil
				}
				return errors.New(why)
			},
		}
	}
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere")
	_, err = b.engine(Keys{Phase: cold}).Apply(t.Context(), d(nowhere, ""))
	assert.Equal(t, report.CodeOf(err), report.Failed, "%v", err)
	_, err = b.engine(Keys{Phase: cold}).Apply(t.Context(), d(nowhere, "the server is not there"))
	assert.Equal(t, report.CodeOf(err), report.Unknown, "%v", err)
	assert.ErrorContains(t, err, "the server is not there")
	assert.ErrorContains(t, err, "no such file or directory", "what OpenTofu says is told too")
	assert.Equal(t, asked, 2)
	assert.Equal(t, b.Locked(), "")

	_, err = b.engine(Keys{Phase: cold}).Apply(t.Context(), d(dir, "the server is not there"))
	assert.NilError(t, err)
	assert.Equal(t, asked, 2, "nobody is asked after what goes well")
	broken := d(dir, "the server is not there")
	broken.Files["main.tf"] = append(broken.Files["main.tf"], `
output "x" { value = files_file.f.nothing }`...)
	for verb, run := range map[string]func(*Engine) error{
		"plan":    func(e *Engine) error { _, err := e.Plan(t.Context(), broken); return err },
		"apply":   func(e *Engine) error { _, err := e.Apply(t.Context(), broken); return err },
		"refresh": func(e *Engine) error { _, err := e.Refresh(t.Context(), broken); return err },
		"destroy": func(e *Engine) error { _, err := e.Destroy(t.Context(), broken); return err },
		"import": func(e *Engine) error {
			_, err := e.Import(t.Context(), broken, "files_file.f", filepath.Join(dir, "a"))
			return err
		},
	} {
		err := run(b.engine(Keys{}))
		assert.Check(t, report.CodeOf(err) == report.Unknown, "%s: %v", verb, err)
	}
	assert.Assert(t, b.engine(Keys{}).Validate(t.Context(), broken) != nil)
	assert.Equal(t, asked, 7, "a verb that speaks with no server asks none")
}
