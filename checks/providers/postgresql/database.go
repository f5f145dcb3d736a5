package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/checks/providers/legacy"
)

// database is postgresql_database.
type database struct{ *psql }

type databaseModel struct {
	ID              types.String `tfsdk:"id"`
	Name            types.String `tfsdk:"name"`
	Owner           types.String `tfsdk:"owner"`
	Template        types.String `tfsdk:"template"`
	Encoding        types.String `tfsdk:"encoding"`
	Collate         types.String `tfsdk:"lc_collate"`
	CType           types.String `tfsdk:"lc_ctype"`
	Tablespace      types.String `tfsdk:"tablespace_name"`
	ConnectionLimit types.Int64  `tfsdk:"connection_limit"`
	Allow           types.Bool   `tfsdk:"allow_connections"`
	IsTemplate      types.Bool   `tfsdk:"is_template"`
	AlterOwnership  types.Bool   `tfsdk:"alter_object_ownership"`
}

func (*database) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "postgresql_database"
}

func (*database) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	read := legacy.As{Optional: true, Computed: true, Idle: true}
	fixed := legacy.As{Optional: true, Computed: true, Idle: true, ForceNew: true}
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": legacy.String(legacy.ID), "name": legacy.String(legacy.As{Required: true}),
		"owner":    legacy.String(legacy.As{Optional: true, Computed: true}),
		"template": legacy.String(fixed), "encoding": legacy.String(fixed), "lc_collate": legacy.String(fixed), "lc_ctype": legacy.String(fixed),
		"tablespace_name": legacy.String(read), "is_template": legacy.Bool(read),
		"connection_limit":       legacy.Int(legacy.As{Optional: true, Idle: true, Default: types.Int64Value(-1)}),
		"allow_connections":      legacy.Bool(legacy.As{Optional: true, Idle: true, Default: types.BoolValue(true)}),
		"alter_object_ownership": legacy.Bool(legacy.As{Optional: true, Idle: true, Default: types.BoolValue(false)}),
	}}
}

func (o *database) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.psql, _ = q.ProviderData.(*psql)
}

// sync reads what is there, and says whether there is a database by that id.
func (o *database) sync(ctx context.Context, m *databaseModel) (bool, error) {
	var there struct {
		Owner, Encoding, Collate, CType, Space string
		Limit                                  int64
		Allow, Template                        bool
	}
	found, err := o.read(ctx, `SELECT pg_get_userbyid(datdba) AS owner, pg_encoding_to_char(encoding) AS encoding, datcollate AS collate,
		datctype AS ctype, spcname AS space, datconnlimit AS "limit", datallowconn AS allow, datistemplate AS template
		FROM pg_database d JOIN pg_tablespace s ON d.dattablespace = s.oid WHERE datname = `+literal(m.ID.ValueString()), &there)
	if err != nil || !found {
		return false, err
	}
	m.Name, m.Owner = m.ID, types.StringValue(there.Owner)
	m.Encoding, m.Collate, m.CType = types.StringValue(there.Encoding), types.StringValue(there.Collate), types.StringValue(there.CType)
	m.Tablespace, m.ConnectionLimit = types.StringValue(there.Space), types.Int64Value(there.Limit)
	m.Allow, m.IsTemplate = types.BoolValue(there.Allow), types.BoolValue(there.Template)
	if m.Template.ValueString() == "" {
		m.Template = types.StringValue("template0")
	}
	return true, nil
}

// asOwner are statements that somebody who is no superuser may only run as one of
// the owner's: so they are made one, and are none after it.
func (o *database) asOwner(ctx context.Context, owner, sql string) error {
	own, err := o.run(ctx, "SELECT pg_has_role(CURRENT_USER, "+literal(owner)+", 'MEMBER')")
	if err == nil && own == "f" {
		who := identifier(owner)
		sql = "GRANT " + who + " TO CURRENT_USER; " + sql + "; REVOKE " + who + " FROM CURRENT_USER"
	}
	if err == nil {
		_, err = o.run(ctx, sql)
	}
	return err
}

func (o *database) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan databaseModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	if r.Diagnostics.HasError() {
		return
	}
	plan.ID = plan.Name
	owner := plan.Owner.ValueString()
	err := o.asOwner(ctx, owner, "CREATE DATABASE "+identifier(plan.Name.ValueString())+" OWNER "+identifier(owner)+
		" TEMPLATE template0 ENCODING 'UTF8' ALLOW_CONNECTIONS true CONNECTION LIMIT -1 IS_TEMPLATE false")
	if err == nil {
		_, err = o.sync(ctx, &plan)
	}
	if err != nil {
		r.Diagnostics.AddError("error creating database "+plan.Name.String(), err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *database) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state databaseModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	found, err := o.sync(ctx, &state)
	switch {
	case err != nil:
		r.Diagnostics.AddError("error reading database", err.Error())
	case !found:
		r.State.RemoveResource(ctx)
	default:
		r.Diagnostics.Append(r.State.Set(ctx, state)...)
	}
}

// Update renames the database in place first, and then gives it to its owner: what
// stops between the two leaves it half-way.
func (o *database) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan, state databaseModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if r.Diagnostics.HasError() {
		return
	}
	name := identifier(plan.Name.ValueString())
	var err error
	if !plan.Name.Equal(state.Name) {
		if _, err = o.run(ctx, "ALTER DATABASE "+identifier(state.Name.ValueString())+" RENAME TO "+name); err == nil {
			plan.ID = plan.Name
		}
	}
	if err == nil && !plan.Owner.Equal(state.Owner) {
		err = o.asOwner(ctx, plan.Owner.ValueString(), "ALTER DATABASE "+name+" OWNER TO "+identifier(plan.Owner.ValueString()))
	}
	if err == nil {
		_, err = o.sync(ctx, &plan)
	}
	if err != nil {
		r.Diagnostics.AddError("error updating database", err.Error())
	}
	// The older SDK keeps what was planned where an update fails.
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *database) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var state databaseModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if err := o.asOwner(ctx, state.Owner.ValueString(), "DROP DATABASE "+identifier(state.Name.ValueString())+" WITH (FORCE)"); err != nil {
		r.Diagnostics.AddError("error dropping database", err.Error())
	}
}

func (*database) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
