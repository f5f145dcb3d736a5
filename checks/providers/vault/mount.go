package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// api is the API of a server (OpenBao API documentation, /sys/mounts).
type api struct {
	address, token string
	limit          time.Duration
}

func (a *api) call(ctx context.Context, method, what string, body any, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.address, "/")+"/v1/sys/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("X-Vault-Token", a.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", method, what, response.Status, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// mount is vault_mount.
type mount struct{ *api }

type model struct {
	ID       types.String `tfsdk:"id"`
	Path     types.String `tfsdk:"path"`
	Type     types.String `tfsdk:"type"`
	Options  types.Map    `tfsdk:"options"`
	Accessor types.String `tfsdk:"accessor"`
}

func (*mount) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "vault_mount"
}

func (*mount) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": schema.StringAttribute{Computed: true}, "accessor": schema.StringAttribute{Computed: true},
		"path": schema.StringAttribute{Required: true}, "type": schema.StringAttribute{Required: true},
		"options": schema.MapAttribute{ElementType: types.StringType, Optional: true},
	}}
}

func (o *mount) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.api, _ = q.ProviderData.(*api)
}

// mounted is a mount as the server has it.
type mounted struct {
	Type     string            `json:"type"`
	Options  map[string]string `json:"options,omitempty"`
	Accessor string            `json:"accessor,omitempty"`
}

func (o *mount) find(ctx context.Context, name string) (*mounted, error) {
	var all struct {
		Data map[string]mounted `json:"data"`
	}
	if err := o.call(ctx, http.MethodGet, "mounts", nil, &all); err != nil {
		return nil, err
	}
	if m, ok := all.Data[name+"/"]; ok {
		return &m, nil
	}
	return nil, nil //nolint:nilnil // there is none
}

func (o *mount) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan model
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	m := mounted{Type: plan.Type.ValueString()}
	r.Diagnostics.Append(plan.Options.ElementsAs(ctx, &m.Options, false)...)
	err := o.call(ctx, http.MethodPost, "mounts/"+plan.Path.ValueString(), m, nil)
	var made *mounted
	if err == nil {
		made, err = o.find(ctx, plan.Path.ValueString())
	}
	if err != nil || made == nil {
		r.Diagnostics.AddError("mount", fmt.Sprint(err))
		return
	}
	plan.ID, plan.Accessor = plan.Path, types.StringValue(made.Accessor)
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *mount) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state model
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	there, err := o.find(ctx, state.ID.ValueString())
	switch {
	case err != nil:
		r.Diagnostics.AddError("read mount", err.Error())
	case there == nil:
		r.State.RemoveResource(ctx)
	default:
		options, faults := types.MapValueFrom(ctx, types.StringType, there.Options)
		r.Diagnostics.Append(faults...)
		state.Path, state.Type, state.Options, state.Accessor = state.ID, types.StringValue(there.Type), options, types.StringValue(there.Accessor)
		r.Diagnostics.Append(r.State.Set(ctx, state)...)
	}
}

func (*mount) Update(_ context.Context, _ resource.UpdateRequest, r *resource.UpdateResponse) {
	r.Diagnostics.AddError("update mount", "the stand-in does not")
}

func (o *mount) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var state model
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if err := o.call(ctx, http.MethodDelete, "mounts/"+state.ID.ValueString(), nil, nil); err != nil {
		r.Diagnostics.AddError("unmount", err.Error())
	}
}

func (*mount) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
