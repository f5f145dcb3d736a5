// Command tofurun runs one verb of the OpenTofu engine over a folder of
// configuration, as a method does: tofurun VERB FOLDER [ARGUMENT…]. It is what
// the checks of the engine kill, stop and measure.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/terraform-exec/tfexec"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/methods/tofu/provider"
	"fediversity.eu/slipway/methods/tofu/supervisor"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// keys are what the checks tell it beyond a method's own keys.
type keys struct {
	Elsewhere env.Bool   `env:"TOFURUN_ELSEWHERE" desc:"say that this is another boot of another host"`
	Token     env.Secret `env:"TOFURUN_TOKEN" desc:"the variable token of the configuration"`
}

func main() {
	if code, ours := supervisor.Main(os.Args); ours {
		os.Exit(code)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	log := report.NewLog(report.Plain(os.Stderr))
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		first := <-received
		cancel(&report.Interruption{Signal: first})
		log.Infof("heard %s", first)
		second := <-received
		os.Exit(int((&report.Interruption{Signal: second}).Code()))
	}()
	err := run(ctx, env.Process(), log, os.Args[1:])
	if err != nil {
		log.Troublef("%v", err)
		for _, hint := range report.Hints(err) {
			log.Infof("hint: %s", hint)
		}
	}
	os.Exit(int(report.CodeOf(err)))
}

func run(ctx context.Context, e env.Environment, log *report.Log, args []string) error {
	if len(args) < 2 {
		return &report.Fault{Code: report.Usage, What: "read the arguments", Why: errors.New("need VERB FOLDER")}
	}
	var own keys
	var found binary.Keys
	var tools toolchain.Keys
	engine := &tofu.Engine{Environment: e, Log: log}
	if err := e.Load(ctx, env.For{}, &own, &found, &tools, &engine.Backend, &engine.Keys); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	if own.Elsewhere {
		engine.Place.Host, engine.Place.Boot, engine.Place.Namespace = "elsewhere", "another-boot", "1"
	}
	var err error
	if engine.Tofu, err = binary.Find(ctx, e, found, tools, log); err != nil {
		return err
	}
	d := tofu.Deployment{Name: "web", Files: map[string][]byte{}}
	if own.Token.IsSet() {
		d.Vars = map[string]env.Secret{"token": own.Token}
	}
	paths, _ := filepath.Glob(filepath.Join(args[1], "*.tf"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d.Files[filepath.Base(path)] = text
	}
	if _, ok := d.Files["traces.tf"]; ok {
		served, err := provider.Serve(ctx, tracesAddress, providerserver.NewProtocol6(traces{}))
		if err != nil {
			return err
		}
		defer served.Close()
		d.Providers = map[string]tfexec.ReattachConfig{tracesAddress: served.Config}
		d.Adopts = func(o ledger.Object) bool { return o.Type == tracesType }
	}
	result, err := verb(ctx, engine, d, args[0], args[2:])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func verb(ctx context.Context, e *tofu.Engine, d tofu.Deployment, name string, rest []string) (any, error) {
	rest = append(rest, "", "")
	switch name {
	case tofu.Apply:
		return e.Apply(ctx, d)
	case tofu.Destroy:
		return e.Destroy(ctx, d)
	case tofu.PlanVerb:
		return e.Plan(ctx, d)
	case tofu.Refresh:
		return e.Refresh(ctx, d)
	case tofu.Validate:
		return nil, e.Validate(ctx, d)
	case tofu.Output:
		return e.Output(ctx, d)
	case tofu.Show:
		return e.Show(ctx, d)
	case tofu.StateList:
		return e.StateList(ctx, d)
	case tofu.StateShow:
		return e.StateShow(ctx, d, rest[0])
	case tofu.Import:
		return e.Import(ctx, d, rest[0], rest[1])
	case tofu.ForceUnlock:
		return nil, e.ForceUnlock(ctx, d, rest[0])
	}
	return nil, &report.Fault{Code: report.Usage, What: "read the arguments", Why: fmt.Errorf("no verb %s", name)}
}
