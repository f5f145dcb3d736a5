// Package provider serves a provider of OpenTofu from within this program, so that
// what the program can do is a real resource: planned, drifted, imported and
// removed as any other. Nothing is fetched, and it works without a network.
package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-exec/tfexec"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"fediversity.eu/slipway/targets/env"
)

// Served is a provider that runs.
type Served struct {
	Config tfexec.ReattachConfig // for a Deployment's Providers
	stop   context.CancelFunc
	done   chan struct{}
}

// startLimit bounds how long a provider may take to listen.
const startLimit = time.Minute

// Serve serves a provider under its source address, until it is closed or ctx
// ends. It dies with this process: what it was making then is of unknown fate, so
// its resources must find by name what is there already.
func Serve(ctx context.Context, address string, server func() tfprotov6.ProviderServer) (*Served, error) {
	if err := env.QuietPlugins(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	configs, done, failed := make(chan *plugin.ReattachConfig, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		err := tf6server.Serve(address, server,
			tf6server.WithDebug(ctx, configs, done), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithoutLogStderrOverride())
		if err != nil {
			failed <- err
		}
	}()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case c := <-configs:
		return &Served{
			stop: stop, done: done,
			Config: tfexec.ReattachConfig{
				Protocol: string(c.Protocol), ProtocolVersion: c.ProtocolVersion, Pid: c.Pid, Test: c.Test,
				Addr: tfexec.ReattachConfigAddr{Network: c.Addr.Network(), String: c.Addr.String()},
			},
		}, nil
	case err := <-failed:
		stop()
		return nil, err
	case <-limit.C:
		stop()
		return nil, errors.New("serve the provider: it does not listen")
	}
}

// Close ends it, and waits until it has ended.
func (s *Served) Close() {
	s.stop()
	<-s.done
}
