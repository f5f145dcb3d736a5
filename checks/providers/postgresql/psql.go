package main

import (
	"context"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// psql runs SQL on a server.
type psql struct{ own map[string]string }

// run gives the first column of the first row, or nothing.
func (p *psql) run(ctx context.Context, sql string) (string, error) {
	out, err := child.Command{
		Path: "psql", Env: env.Process().Child(p.own), Stdin: strings.NewReader(sql),
		Args: []string{"--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--no-password", "--set", "ON_ERROR_STOP=1"},
	}.Output(ctx)
	return strings.TrimSpace(string(out)), err
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func identifier(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
