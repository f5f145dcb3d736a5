// Command stateserver serves a folder of states until it is asked to stop. It is
// the state backend as a process of its own, for checks that kill it; its first
// line of output is the address of the states.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"fediversity.eu/slipway/methods/statebackend"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

type keys struct {
	Dir      env.Path   `env:"STATE_DIR,required" desc:"folder of the states"`
	Listen   string     `env:"STATE_LISTEN" desc:"host and port; a free port of the loopback when unset"`
	User     string     `env:"STATE_USER" default:"deployer" desc:"who may use the states"`
	Password env.Secret `env:"STATE_PASSWORD" desc:"the password of that user"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, env.Process(), os.Stdout, report.NewLog(report.Plain(os.Stderr))); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, e env.Environment, out io.Writer, log *report.Log) (err error) {
	var k keys
	if err := e.Load(ctx, env.For{}, &k); err != nil {
		return err
	}
	store, err := statebackend.Open(string(k.Dir), statebackend.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := store.Close(); err == nil {
			err = closed
		}
	}()
	server, err := statebackend.Listen(ctx, store, statebackend.Serving{
		Access: statebackend.Access{User: k.User, Password: k.Password}, Address: k.Listen, Log: log,
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, server.State(""))
	return server.Serve(ctx)
}
