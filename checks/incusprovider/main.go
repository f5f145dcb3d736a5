// Command incusprovider stands in for the provider lxc/incus of OpenTofu where no
// registry can be reached: the same names, schemas and behaviour for the resources
// that Slipway uses, over a real server. It is of the checks alone, and speaks with
// the server by itself, so that what it finds is no word of the product's.
package main

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return &incus{} },
		providerserver.ServeOpts{Address: "registry.opentofu.org/lxc/incus"})
	if err != nil {
		os.Exit(1)
	}
}
