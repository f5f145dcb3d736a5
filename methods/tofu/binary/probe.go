package binary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hc-install/product"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/env"
)

// probeLimit bounds the look at all candidates together, tryLimit at one, so
// that one that hangs does not hide the others.
const (
	probeLimit = time.Minute
	tryLimit   = 15 * time.Second
)

// prober asks candidates for their version, and remembers why it took none.
type prober struct {
	env     env.Environment
	memory  string // a file of versions by path, size and time
	reasons map[string]string
	order   []string
}

// product describes OpenTofu to hc-install, which knows only its maker's own.
func (p *prober) product() product.Product {
	return product.Product{
		Name:       "opentofu",
		BinaryName: func() string { return "tofu" },
		GetVersion: p.version,
	}
}

// tofu is the OpenTofu at path.
func (p *prober) tofu(ctx context.Context, path string) (*Tofu, error) {
	v, err := p.version(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	return &Tofu{Path: path, Version: v.String()}, nil
}

// version asks one candidate. A build between releases counts as the release
// that it leads to.
func (p *prober) version(ctx context.Context, path string) (*version.Version, error) {
	text, err := p.remembered(ctx, path)
	if err == nil {
		var v *version.Version
		if v, err = version.NewVersion(text); err == nil {
			core := v.Core()
			p.note(path, "it is "+core.String()+", needed is "+wanted)
			return core, nil
		}
	}
	p.note(path, err.Error())
	return nil, err
}

func (p *prober) note(path, reason string) {
	if p.reasons == nil {
		p.reasons = map[string]string{}
	}
	if _, ok := p.reasons[path]; !ok {
		p.order = append(p.order, path)
	}
	p.reasons[path] = reason
}

// remembered gives the version of a file that was asked before and has not
// changed since, and else asks it: each start of tofu costs more than a tenth of
// a second.
func (p *prober) remembered(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	known := map[string]string{}
	if text, err := os.ReadFile(p.memory); err == nil {
		_ = json.Unmarshal(text, &known) // one that can't be read is written anew
	}
	if v, ok := known[key]; ok {
		return v, nil
	}
	v, err := p.ask(ctx, path)
	if err != nil {
		return "", err
	}
	known[key] = v
	p.keep(known)
	return v, nil
}

func (p *prober) keep(known map[string]string) {
	text, err := json.Marshal(known)
	if err != nil || os.MkdirAll(filepath.Dir(p.memory), 0o755) != nil {
		return // asked again next time
	}
	_ = durable.Write(p.memory, text)
}

func (p *prober) ask(ctx context.Context, path string) (string, error) {
	if script(path) {
		return "", errors.New("it is a script, not the program itself")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tryLimit, fmt.Errorf("it gave no version within %s", tryLimit))
	defer cancel()
	out, err := child.Command{
		Path: path, Args: []string{"version", "-json"}, Grace: time.Second,
		Env: p.env.Child(map[string]string{"TF_CLI_CONFIG_FILE": os.DevNull, "CHECKPOINT_DISABLE": "1"}),
	}.Output(ctx)
	if err != nil {
		return "", err
	}
	var said struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return "", fmt.Errorf("it does not answer with JSON alone, as the program itself does, but with %q", first)
	}
	return said.Version, nil
}

// script tells whether a file is text that some interpreter runs.
func script(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	start := make([]byte, 2)
	n, _ := file.Read(start)
	return string(start[:n]) == "#!"
}
