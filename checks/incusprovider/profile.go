package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// profile is settings and devices that instances share.
type profile struct{ server *server }

type profileModel struct {
	Name        types.String  `tfsdk:"name"`
	Description types.String  `tfsdk:"description"`
	Project     types.String  `tfsdk:"project"`
	Remote      types.String  `tfsdk:"remote"`
	Config      types.Map     `tfsdk:"config"`
	Devices     []deviceModel `tfsdk:"device"`
}

func (*profile) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "incus_profile"
}

func (p *profile) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	p.server, _ = q.ProviderData.(*server)
}

func (*profile) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	fixed := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	r.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"name":        schema.StringAttribute{Required: true, PlanModifiers: fixed},
			"description": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("")},
			"project":     schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("default"), PlanModifiers: fixed, Validators: []validator.String{filled}},
			"remote":      schema.StringAttribute{Optional: true, PlanModifiers: fixed},
			"config": schema.MapAttribute{
				Optional: true, Computed: true, ElementType: types.StringType,
				Default: mapdefault.StaticValue(types.MapValueMust(types.StringType, map[string]attr.Value{})),
			},
		},
		Blocks: map[string]schema.Block{
			"device": deviceBlock(),
		},
	}
}

func (m *profileModel) path() string { return "/1.0/profiles/" + url.PathEscape(m.Name.ValueString()) }

// put is the profile as the server wants it.
func (m *profileModel) put(ctx context.Context) map[string]any {
	return map[string]any{"description": m.Description.ValueString(), "config": given(ctx, m.Config), "devices": written(m.Devices)}
}

func (p *profile) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var m profileModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	body := m.put(ctx)
	body["name"] = m.Name.ValueString()
	if err := p.server.call(ctx, http.MethodPost, "/1.0/profiles", in(m.Project.ValueString()), nil, body, nil); err != nil {
		r.Diagnostics.AddError("create profile", err.Error())
		return
	}
	p.sync(ctx, m, &r.State, &r.Diagnostics)
}

func (p *profile) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var m profileModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	if !r.Diagnostics.HasError() {
		p.sync(ctx, m, &r.State, &r.Diagnostics)
	}
}

func (p *profile) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var m profileModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	if err := p.server.call(ctx, http.MethodPut, m.path(), in(m.Project.ValueString()), nil, m.put(ctx), nil); err != nil {
		r.Diagnostics.AddError("update profile", err.Error())
		return
	}
	p.sync(ctx, m, &r.State, &r.Diagnostics)
}

// sync brings a state in line with the server.
func (p *profile) sync(ctx context.Context, m profileModel, state *tfsdk.State, d *diag.Diagnostics) {
	var there struct {
		Description string                       `json:"description"`
		Config      map[string]string            `json:"config"`
		Devices     map[string]map[string]string `json:"devices"`
	}
	err := p.server.call(ctx, http.MethodGet, m.path(), in(m.Project.ValueString()), nil, nil, &there)
	if errors.Is(err, errAbsent) {
		state.RemoveResource(ctx)
		return
	}
	if err != nil {
		d.AddError("read profile", err.Error())
		return
	}
	settings := texts(ctx, m.Config)
	maps.DeleteFunc(settings, func(_ string, value *string) bool { return value != nil })
	for name, value := range there.Config { // all of them: none is the server's own
		settings[name] = &value
	}
	config, more := types.MapValueFrom(ctx, types.StringType, settings)
	d.Append(more...)
	m.Description, m.Config, m.Devices = types.StringValue(there.Description), config, read(there.Devices)
	d.Append(state.Set(ctx, &m)...)
}

func (p *profile) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var m profileModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	err := p.server.call(ctx, http.MethodDelete, m.path(), in(m.Project.ValueString()), nil, nil, nil)
	if err != nil && !errors.Is(err, errAbsent) {
		r.Diagnostics.AddError("delete profile", err.Error())
	}
}

func (p *profile) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	identified(ctx, q.ID, []string{"project", "name"}, r)
}
