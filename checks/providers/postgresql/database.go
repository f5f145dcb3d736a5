package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// database is postgresql_database.
type database struct{ *psql }

type databaseModel struct {
	ID    types.String `tfsdk:"id"`
	Name  types.String `tfsdk:"name"`
	Owner types.String `tfsdk:"owner"`
}

func (*database) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "postgresql_database"
}

func (*database) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": kept(), "name": schema.StringAttribute{Required: true}, "owner": schema.StringAttribute{Optional: true, Computed: true},
	}}
}

func (o *database) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.psql, _ = q.ProviderData.(*psql)
}

func (o *database) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan databaseModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	if _, err := o.run(ctx, "CREATE DATABASE "+identifier(plan.Name.ValueString())+" OWNER "+identifier(plan.Owner.ValueString())); err != nil {
		r.Diagnostics.AddError("create database", err.Error())
		return
	}
	plan.ID = plan.Name
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *database) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state databaseModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	owner, err := o.run(ctx, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = "+literal(state.ID.ValueString()))
	switch {
	case err != nil:
		r.Diagnostics.AddError("read database", err.Error())
	case owner == "":
		r.State.RemoveResource(ctx)
	default:
		state.Name, state.Owner = state.ID, types.StringValue(owner)
		r.Diagnostics.Append(r.State.Set(ctx, state)...)
	}
}

func (o *database) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan databaseModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	if _, err := o.run(ctx, "ALTER DATABASE "+identifier(plan.Name.ValueString())+" OWNER TO "+identifier(plan.Owner.ValueString())); err != nil {
		r.Diagnostics.AddError("alter database", err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *database) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var state databaseModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if _, err := o.run(ctx, "DROP DATABASE "+identifier(state.ID.ValueString())); err != nil {
		r.Diagnostics.AddError("drop database", err.Error())
	}
}

func (*database) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
