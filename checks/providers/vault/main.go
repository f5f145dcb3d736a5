// Command vault stands in for the provider hashicorp/vault 5.3.0: mounts, with those
// of its attributes that are used.
package main

import (
	"context"
	"log"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/checks/providers/legacy"
	"fediversity.eu/slipway/targets/env"
)

func main() {
	if err := legacy.Serve("registry.opentofu.org/hashicorp/vault", &server{}); err != nil {
		log.Fatal(err)
	}
}

// server is the provider, configured for one server.
type server struct{}

type settings struct {
	Address   types.String `tfsdk:"address"`
	Token     types.String `tfsdk:"token"`
	Namespace types.String `tfsdk:"namespace"`
	CA        types.String `tfsdk:"ca_cert_file"`
	Skip      types.Bool   `tfsdk:"skip_child_token"`
}

// limits come from the environment, as those of the real provider do.
type limits struct {
	Client env.Duration `env:"VAULT_CLIENT_TIMEOUT,default=60s" desc:"how long a request may take"`
}

func (*server) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "vault"
}

func (*server) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"address": schema.StringAttribute{Optional: true}, "token": schema.StringAttribute{Optional: true}, // not marked as sensitive: who gives it has to
		"namespace": schema.StringAttribute{Optional: true}, "ca_cert_file": schema.StringAttribute{Optional: true},
		"skip_child_token": schema.BoolAttribute{Optional: true},
	}}
}

func (*server) Configure(ctx context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var s settings
	r.Diagnostics.Append(q.Config.Get(ctx, &s)...)
	var own limits
	if err := env.Process().Load(ctx, env.For{}, &own); err != nil {
		r.Diagnostics.AddError("configure", err.Error())
	}
	r.ResourceData = &api{
		address: s.Address.ValueString(), token: s.Token.ValueString(), namespace: s.Namespace.ValueString(),
		ca: s.CA.ValueString(), limit: time.Duration(own.Client),
	}
}

func (*server) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &mount{} }}
}

func (*server) DataSources(context.Context) []func() datasource.DataSource { return nil }
