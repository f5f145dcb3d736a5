package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// role is postgresql_role.
type role struct{ *psql }

type roleModel struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	Login    types.Bool   `tfsdk:"login"`
	Password types.String `tfsdk:"password_wo"`
	Version  types.String `tfsdk:"password_wo_version"`
}

func (*role) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "postgresql_role"
}

// kept is an id that an update leaves alone.
func kept() schema.StringAttribute {
	return schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

func (*role) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": kept(), "name": schema.StringAttribute{Required: true},
		"login":               schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false)},
		"password_wo":         schema.StringAttribute{Optional: true, Sensitive: true, WriteOnly: true},
		"password_wo_version": schema.StringAttribute{Optional: true},
	}}
}

func (o *role) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.psql, _ = q.ProviderData.(*psql)
}

// options are those of CREATE ROLE and ALTER ROLE.
func (m roleModel) options(password types.String) string {
	text := " NOLOGIN"
	if m.Login.ValueBool() {
		text = " LOGIN"
	}
	if !password.IsNull() {
		text += " PASSWORD " + literal(password.ValueString())
	}
	return text
}

func (o *role) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan, config roleModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if _, err := o.run(ctx, "CREATE ROLE "+identifier(plan.Name.ValueString())+plan.options(config.Password)); err != nil {
		r.Diagnostics.AddError("create role", err.Error())
		return
	}
	plan.ID = plan.Name
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *role) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state roleModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	login, err := o.run(ctx, "SELECT rolcanlogin FROM pg_roles WHERE rolname = "+literal(state.ID.ValueString()))
	switch {
	case err != nil:
		r.Diagnostics.AddError("read role", err.Error())
	case login == "":
		r.State.RemoveResource(ctx)
	default:
		state.Name, state.Login = state.ID, types.BoolValue(login == "t")
		r.Diagnostics.Append(r.State.Set(ctx, state)...)
	}
}

func (o *role) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan, state, config roleModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if plan.Version.Equal(state.Version) {
		config.Password = types.StringNull()
	}
	if _, err := o.run(ctx, "ALTER ROLE "+identifier(plan.Name.ValueString())+plan.options(config.Password)); err != nil {
		r.Diagnostics.AddError("alter role", err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *role) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var state roleModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if _, err := o.run(ctx, "DROP ROLE "+identifier(state.ID.ValueString())); err != nil {
		r.Diagnostics.AddError("drop role", err.Error())
	}
}

func (*role) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
