// Package legacy has stand-ins behave as providers that are written with HashiCorp's
// older SDK (terraform-plugin-sdk/v2): they plan and give back what a newer provider
// may not. A value that is empty and one that is not set are the same to them where
// they plan, and not where they read; defaults are of attributes that are not
// computed; an id may change in an update.
package legacy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
)

// Serve serves a provider as such a one.
func Serve(address string, p provider.Provider) error {
	return tf5server.Serve(address, func() tfprotov5.ProviderServer {
		return server{providerserver.NewProtocol5(p)()}
	})
}

// server says of plans and results that they are an older SDK's, whose rules OpenTofu
// then holds them to.
type server struct{ tfprotov5.ProviderServer }

func (s server) PlanResourceChange(ctx context.Context, q *tfprotov5.PlanResourceChangeRequest) (*tfprotov5.PlanResourceChangeResponse, error) {
	r, err := s.ProviderServer.PlanResourceChange(ctx, q)
	if r != nil {
		r.UnsafeToUseLegacyTypeSystem = true //nolint:staticcheck // It is deprecated as what it imitates is.
	}
	return r, err
}

func (s server) ApplyResourceChange(ctx context.Context, q *tfprotov5.ApplyResourceChangeRequest) (*tfprotov5.ApplyResourceChangeResponse, error) {
	r, err := s.ProviderServer.ApplyResourceChange(ctx, q)
	if r != nil {
		r.UnsafeToUseLegacyTypeSystem = true //nolint:staticcheck // It is deprecated as what it imitates is.
	}
	return r, err
}
