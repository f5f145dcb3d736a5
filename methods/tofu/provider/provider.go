// Package provider serves a provider of OpenTofu from within this program, so that
// what the program can do is a real resource: planned, drifted, imported and
// removed as any other. Nothing is fetched, and it works without a network.
package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-exec/tfexec"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/targets/env"
)

// Served is a provider that runs.
type Served struct {
	Config tfexec.ReattachConfig // for a Deployment's Providers
	stop   context.CancelFunc
	done   chan struct{}
	folder string // of its socket
}

// starting lets one provider after the other say where its socket is to be, which the
// library takes from a variable of this process.
var starting sync.Mutex

// startLimit bounds how long a provider may take to listen.
const startLimit = time.Minute

// Serve serves a provider under its source address, until it is closed or ctx
// ends. It dies with this process: what it was making then is of unknown fate, so
// its resources must find by name what is there already.
func Serve(ctx context.Context, address string, server func() tfprotov6.ProviderServer) (*Served, error) {
	folder, err := rundir.Sockets()
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, address, server, folder)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve the provider: %w", err), os.RemoveAll(folder))
	}
	return s, nil
}

func serve(ctx context.Context, address string, server func() tfprotov6.ProviderServer, folder string) (*Served, error) {
	starting.Lock()
	defer starting.Unlock()
	if err := env.Plugins(folder); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	configs, done, failed := make(chan *plugin.ReattachConfig, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		err := tf6server.Serve(address, server,
			tf6server.WithDebug(ctx, configs, done), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithoutLogStderrOverride())
		if err == nil {
			err = fmt.Errorf("it can't listen in %s", folder) // the library only logs why
		}
		failed <- err
	}()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case c := <-configs:
		return &Served{
			stop: stop, done: done, folder: folder,
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
		return nil, errors.New("it does not listen")
	}
}

// Close ends it, and waits until it has ended.
func (s *Served) Close() {
	s.stop()
	<-s.done
	_ = os.RemoveAll(s.folder)
}
