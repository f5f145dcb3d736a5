package tf

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// The provider's names. Nothing is ever fetched by them.
const (
	providerName    = "slipway"
	providerAddress = "fediversity.eu/slipway/slipway"
	machineType     = "slipway_machine"
)

// machines is the provider of one run.
type machines struct{ work *work }

// server serves the provider of a run.
func (w *work) server() func() tfprotov6.ProviderServer {
	return providerserver.NewProtocol6(machines{w})
}

func (machines) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = providerName
}

func (machines) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (machines) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (machines) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (m machines) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &machine{m.work} }}
}
