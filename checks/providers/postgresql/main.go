// Command postgresql stands in for the provider cyrilgdn/postgresql 1.26.0: roles
// and databases, with those of its attributes that are used. It speaks with the
// server by psql.
package main

import (
	"context"
	"log"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/checks/providers/legacy"
)

func main() {
	if err := legacy.Serve("registry.opentofu.org/cyrilgdn/postgresql", &server{}); err != nil {
		log.Fatal(err)
	}
}

// server is the provider, configured for one server.
type server struct{}

type settings struct {
	Host        types.String `tfsdk:"host"`
	Port        types.Int64  `tfsdk:"port"`
	Database    types.String `tfsdk:"database"`
	Username    types.String `tfsdk:"username"`
	Password    types.String `tfsdk:"password"`
	SSLMode     types.String `tfsdk:"sslmode"`
	SSLRootCert types.String `tfsdk:"sslrootcert"`
	Superuser   types.Bool   `tfsdk:"superuser"`
	Timeout     types.Int64  `tfsdk:"connect_timeout"`
}

func (*server) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "postgresql"
}

func (*server) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"host": schema.StringAttribute{Optional: true}, "port": schema.Int64Attribute{Optional: true},
		"database": schema.StringAttribute{Optional: true}, "username": schema.StringAttribute{Optional: true},
		"password": schema.StringAttribute{Optional: true, Sensitive: true},
		"sslmode":  schema.StringAttribute{Optional: true}, "sslrootcert": schema.StringAttribute{Optional: true},
		"superuser": schema.BoolAttribute{Optional: true}, "connect_timeout": schema.Int64Attribute{Optional: true},
	}}
}

func (*server) Configure(ctx context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var s settings
	r.Diagnostics.Append(q.Config.Get(ctx, &s)...)
	limit := int64(180) // as the real one's
	if !s.Timeout.IsNull() {
		limit = s.Timeout.ValueInt64()
	}
	r.ResourceData = &psql{own: map[string]string{
		"PGHOST": strings.Trim(s.Host.ValueString(), "[]"), "PGPORT": strconv.FormatInt(s.Port.ValueInt64(), 10), "PGDATABASE": s.Database.ValueString(),
		"PGUSER": s.Username.ValueString(), "PGPASSWORD": s.Password.ValueString(),
		"PGSSLMODE": s.SSLMode.ValueString(), "PGSSLROOTCERT": s.SSLRootCert.ValueString(), "PGCONNECT_TIMEOUT": strconv.FormatInt(limit, 10),
	}}
}

func (*server) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &role{} }, func() resource.Resource { return &database{} },
	}
}

func (*server) DataSources(context.Context) []func() datasource.DataSource { return nil }
