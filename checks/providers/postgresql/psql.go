package main

import (
	"context"
	"encoding/json"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// psql runs SQL on a server.
type psql struct{ own map[string]string }

// run runs statements, each in a transaction of its own, and gives what they give.
func (p *psql) run(ctx context.Context, sql string) (string, error) {
	out, err := child.Command{
		Path: "psql", Env: env.Process().Child(p.own), Stdin: strings.NewReader(sql),
		Args: []string{"--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--no-password", "--set", "ON_ERROR_STOP=1"},
	}.Output(ctx)
	return strings.TrimSpace(string(out)), err
}

// read reads a row, and says whether there is one.
func (p *psql) read(ctx context.Context, query string, into any) (bool, error) {
	text, err := p.run(ctx, "SELECT row_to_json(r) FROM ("+query+") r")
	if err != nil || text == "" {
		return false, err
	}
	return true, json.Unmarshal([]byte(text), into)
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// doubled is a literal as the real provider writes it, which PostgreSQL reads
// otherwise: a backslash comes out as two (pqQuoteLiteral).
func doubled(text string) string { return literal(strings.ReplaceAll(text, `\`, `\\`)) }

func identifier(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
