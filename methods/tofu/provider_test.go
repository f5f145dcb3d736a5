package tofu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
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

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/provider"
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
	return []func() resource.Resource{func() resource.Resource { return file{} }}
}

type file struct{}

type fileModel struct {
	ID   types.String `tfsdk:"id"`
	Text types.String `tfsdk:"text"`
}

func (file) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "files_file"
}

func (file) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"text": schema.StringAttribute{Required: true},
	}}
}

func (file) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var m fileModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	r.Diagnostics.Append(r.State.Set(ctx, m)...)
	if err := os.WriteFile(m.ID.ValueString(), []byte(m.Text.ValueString()), 0o600); err != nil {
		r.Diagnostics.AddError("write", err.Error())
	}
}

func (file) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var m fileModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
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
	m.Text = types.StringValue(string(text))
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

func TestProviderOfThisProgram(t *testing.T) {
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
