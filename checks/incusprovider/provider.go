package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// incus is the provider.
type incus struct{}

type providerModel struct {
	ConfigDir types.String  `tfsdk:"config_dir"`
	Default   types.String  `tfsdk:"default_remote"`
	Generate  types.Bool    `tfsdk:"generate_client_certificates"`
	Accept    types.Bool    `tfsdk:"accept_remote_certificate"`
	Remotes   []remoteModel `tfsdk:"remote"`
}

type remoteModel struct {
	Name     types.String `tfsdk:"name"`
	Address  types.String `tfsdk:"address"`
	Protocol types.String `tfsdk:"protocol"`
	Auth     types.String `tfsdk:"authentication_type"`
	Token    types.String `tfsdk:"token"`
	Public   types.Bool   `tfsdk:"public"`
	Helper   types.String `tfsdk:"credentials_helper"`
}

func (*incus) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "incus"
}

func (*incus) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"config_dir":                   schema.StringAttribute{Optional: true},
			"default_remote":               schema.StringAttribute{Optional: true},
			"generate_client_certificates": schema.BoolAttribute{Optional: true},
			"accept_remote_certificate":    schema.BoolAttribute{Optional: true},
		},
		Blocks: map[string]schema.Block{"remote": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
			Attributes: map[string]schema.Attribute{
				"name":                schema.StringAttribute{Required: true},
				"address":             schema.StringAttribute{Optional: true},
				"protocol":            schema.StringAttribute{Optional: true},
				"authentication_type": schema.StringAttribute{Optional: true},
				"token":               schema.StringAttribute{Optional: true, Sensitive: true},
				"public":              schema.BoolAttribute{Optional: true},
				"credentials_helper":  schema.StringAttribute{Optional: true},
			},
		}}},
	}
}

// Configure reads who we are to the default remote.
func (*incus) Configure(ctx context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var m providerModel
	r.Diagnostics.Append(q.Config.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	for _, remote := range m.Remotes {
		if remote.Name.ValueString() != m.Default.ValueString() {
			continue
		}
		s, err := open(m.ConfigDir.ValueString(), remote.Name.ValueString(), remote.Address.ValueString())
		if err != nil {
			r.Diagnostics.AddError("connect to remote", err.Error())
			return
		}
		r.ResourceData = s
		return
	}
	r.Diagnostics.AddError("connect to remote", "the default remote is not configured")
}

func (*incus) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (*incus) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &instance{} },
		func() resource.Resource { return &profile{} },
		func() resource.Resource { return &thing{kind: project} },
		func() resource.Resource { return &thing{kind: network} },
		func() resource.Resource { return &thing{kind: volume} },
	}
}
