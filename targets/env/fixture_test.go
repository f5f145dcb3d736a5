package env_test

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// ssh is a coordinates struct like those of the methods.
type ssh struct {
	Host    env.Host          `env:"SSH_HOST,required" desc:"name or address of the machine" scope:"machine"`
	Port    env.Port          `env:"SSH_PORT,default=22" desc:"port of its ssh server" scope:"machine"`
	User    string            `env:"SSH_USER,default=root" desc:"account to log in to"`
	Key     env.Secret        `env:"SSH_KEY" desc:"private key that opens the machine" lines:"several"`
	Timeout env.Duration      `env:"SSH_CONNECT_TIMEOUT,default=30s" desc:"how long a connection may take"`
	Confirm env.DurationOrOff `env:"SSH_CONFIRM_TIMEOUT,default=60s" desc:"how long to wait for the confirmation"`
	Reboot  string            `env:"SSH_REBOOT,default=never" desc:"when to reboot" oneof:"never,if-needed,always"`
}

// faultsOf returns what err says about declarations, one text a fault.
func faultsOf(t *testing.T, err error) []string {
	t.Helper()
	var declaration *env.DeclarationError
	assert.Assert(t, errors.As(err, &declaration), "%v", err)
	texts := make([]string, len(declaration.Faults))
	for i, f := range declaration.Faults {
		texts[i] = strings.TrimSpace(f.Place+" "+f.Name) + ": " + f.What
		assert.Assert(t, strings.Contains(err.Error(), "\n  "+texts[i]), "%v", err)
	}
	return texts
}

// problemsOf returns err's problems, one "VARIABLE: what" each.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var problems *env.Problems
	assert.Assert(t, errors.As(err, &problems), "%v", err)
	texts := make([]string, len(problems.List))
	for i, p := range problems.List {
		texts[i] = p.Variable + ": " + p.What
		assert.Assert(t, p.Name != "" && p.Valid != "" && p.Description != "", "%+v", p)
	}
	return texts
}
