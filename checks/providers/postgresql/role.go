package main

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/checks/providers/legacy"
)

// role is postgresql_role.
type role struct{ *psql }

type roleModel struct {
	ID                types.String `tfsdk:"id"`
	Name              types.String `tfsdk:"name"`
	Login             types.Bool   `tfsdk:"login"`
	PasswordWO        types.String `tfsdk:"password_wo"`
	Version           types.String `tfsdk:"password_wo_version"`
	Password          types.String `tfsdk:"password"`
	Encrypted         types.String `tfsdk:"encrypted"`
	EncryptedPassword types.Bool   `tfsdk:"encrypted_password"`
	Roles             types.Set    `tfsdk:"roles"`
	SearchPath        types.List   `tfsdk:"search_path"`
	ValidUntil        types.String `tfsdk:"valid_until"`
	ConnectionLimit   types.Int64  `tfsdk:"connection_limit"`
	Superuser         types.Bool   `tfsdk:"superuser"`
	CreateDatabase    types.Bool   `tfsdk:"create_database"`
	CreateRole        types.Bool   `tfsdk:"create_role"`
	Idle              types.Int64  `tfsdk:"idle_in_transaction_session_timeout"`
	Inherit           types.Bool   `tfsdk:"inherit"`
	Replication       types.Bool   `tfsdk:"replication"`
	BypassRLS         types.Bool   `tfsdk:"bypass_row_level_security"`
	SkipDrop          types.Bool   `tfsdk:"skip_drop_role"`
	SkipReassign      types.Bool   `tfsdk:"skip_reassign_owned"`
	StatementTimeout  types.Int64  `tfsdk:"statement_timeout"`
	AssumeRole        types.String `tfsdk:"assume_role"`
}

func (*role) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "postgresql_role"
}

func (*role) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	idle := legacy.As{Optional: true, Idle: true}
	or := func(standard attr.Value) legacy.As { return legacy.As{Optional: true, Idle: true, Default: standard} }
	no, yes := types.BoolValue(false), types.BoolValue(true)
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": legacy.String(legacy.ID), "name": legacy.String(legacy.As{Required: true}),
		"login":       legacy.Bool(legacy.As{Optional: true, Default: no}),
		"password_wo": legacy.String(legacy.As{Optional: true, Sensitive: true, WriteOnly: true}), "password_wo_version": legacy.String(legacy.As{Optional: true}),
		"password":  legacy.String(legacy.As{Optional: true, Sensitive: true, Idle: true}),
		"encrypted": legacy.String(idle), "encrypted_password": legacy.Bool(or(yes)),
		"roles": legacy.Set(idle), "search_path": legacy.List(idle),
		"valid_until": legacy.String(or(types.StringValue("infinity"))), "connection_limit": legacy.Int(or(types.Int64Value(-1))),
		"superuser": legacy.Bool(or(no)), "create_database": legacy.Bool(or(no)), "create_role": legacy.Bool(or(no)),
		"idle_in_transaction_session_timeout": legacy.Int(idle), "inherit": legacy.Bool(or(yes)),
		"replication": legacy.Bool(or(no)), "bypass_row_level_security": legacy.Bool(or(no)),
		"skip_drop_role": legacy.Bool(or(no)), "skip_reassign_owned": legacy.Bool(or(no)),
		"statement_timeout": legacy.Int(idle), "assume_role": legacy.String(idle),
	}}
}

// ValidateConfig wants a password and its version together.
func (*role) ValidateConfig(ctx context.Context, q resource.ValidateConfigRequest, r *resource.ValidateConfigResponse) {
	var config roleModel
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if config.PasswordWO.IsNull() != config.Version.IsNull() {
		r.Diagnostics.AddError("Missing required argument", "all of password_wo, password_wo_version must be specified")
	}
}

func (o *role) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.psql, _ = q.ProviderData.(*psql)
}

// sync reads what is there, and says whether there is a role by that id.
func (o *role) sync(ctx context.Context, m *roleModel) (bool, error) {
	var there struct {
		Login, Super, Inherit, CreateRole, CreateDB, Replication, Bypass bool
		Limit                                                            int64
		Until                                                            string
	}
	found, err := o.read(ctx, `SELECT rolcanlogin AS login, rolsuper AS super, rolinherit AS inherit, rolcreaterole AS createrole,
		rolcreatedb AS createdb, rolreplication AS replication, rolbypassrls AS bypass, rolconnlimit AS "limit",
		COALESCE(rolvaliduntil::TEXT, 'infinity') AS until FROM pg_roles WHERE rolname = `+literal(m.ID.ValueString()), &there)
	if err != nil || !found {
		return false, err
	}
	m.Name, m.Login = m.ID, types.BoolValue(there.Login)
	m.Superuser, m.Inherit, m.CreateRole = types.BoolValue(there.Super), types.BoolValue(there.Inherit), types.BoolValue(there.CreateRole)
	m.CreateDatabase, m.Replication, m.BypassRLS = types.BoolValue(there.CreateDB), types.BoolValue(there.Replication), types.BoolValue(there.Bypass)
	m.ConnectionLimit, m.ValidUntil = types.Int64Value(there.Limit), types.StringValue(there.Until)
	m.EncryptedPassword = types.BoolValue(true)
	m.SkipDrop, m.SkipReassign = types.BoolValue(m.SkipDrop.ValueBool()), types.BoolValue(m.SkipReassign.ValueBool())
	// What nobody set reads as empty, and not as what is not set.
	m.AssumeRole, m.StatementTimeout, m.Idle = types.StringValue(""), types.Int64Value(0), types.Int64Value(0)
	return true, nil
}

// empties are collections that stay unset in the run that made it, and read as empty.
func (m *roleModel) empties() {
	m.Roles, m.SearchPath = types.SetValueMust(types.StringType, nil), types.ListValueMust(types.StringType, nil)
}

func (m roleModel) options(password types.String) string {
	text := " NOLOGIN"
	if m.Login.ValueBool() {
		text = " LOGIN"
	}
	switch given := password.ValueString(); {
	case given == "":
	case strings.EqualFold(given, "null"): // where it is made alone
		text += " PASSWORD NULL"
	default:
		text += " PASSWORD " + doubled(given)
	}
	return text
}

func (o *role) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan, config roleModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if r.Diagnostics.HasError() {
		return
	}
	plan.ID = plan.Name
	_, err := o.run(ctx, "CREATE ROLE "+identifier(plan.Name.ValueString())+plan.options(config.PasswordWO))
	if err == nil {
		_, err = o.sync(ctx, &plan)
	}
	if err != nil {
		r.Diagnostics.AddError("error creating role "+plan.Name.ValueString(), err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *role) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state roleModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	found, err := o.sync(ctx, &state)
	switch {
	case err != nil:
		r.Diagnostics.AddError("error reading ROLE", err.Error())
	case !found:
		r.State.RemoveResource(ctx)
	default:
		state.empties()
		r.Diagnostics.Append(r.State.Set(ctx, state)...)
	}
}

// Update renames the role in place, and gives it the password where its version
// differs: in one transaction.
func (o *role) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan, state, config roleModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if r.Diagnostics.HasError() {
		return
	}
	name := identifier(plan.Name.ValueString())
	sql := "BEGIN;"
	if !plan.Name.Equal(state.Name) {
		sql += "ALTER ROLE " + identifier(state.Name.ValueString()) + " RENAME TO " + name + ";"
	}
	if password := config.PasswordWO; !password.IsNull() && !plan.Version.Equal(state.Version) {
		sql += "ALTER ROLE " + name + " PASSWORD " + doubled(password.ValueString()) + ";"
		plan.Password = types.StringValue("")
	}
	if !plan.Login.Equal(state.Login) {
		sql += "ALTER ROLE " + name + " WITH" + plan.options(types.StringNull()) + ";"
	}
	plan.ID = plan.Name
	_, err := o.run(ctx, sql+"COMMIT;")
	if err == nil {
		_, err = o.sync(ctx, &plan)
	}
	if err != nil {
		r.Diagnostics.AddError("error updating role", err.Error())
		plan.ID = state.ID
	}
	// The older SDK keeps what was planned where an update fails.
	r.Diagnostics.Append(r.State.Set(ctx, plan)...)
}

func (o *role) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var state roleModel
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	name := identifier(state.Name.ValueString())
	if _, err := o.run(ctx, "REASSIGN OWNED BY "+name+" TO CURRENT_USER; DROP OWNED BY "+name+"; DROP ROLE "+name); err != nil {
		r.Diagnostics.AddError("could not delete role", err.Error())
	}
}

func (*role) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
