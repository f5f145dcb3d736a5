// Package inherent makes the state of a deployment that is kept elsewhere, as
// resources of OpenTofu: a database in PostgreSQL, by the provider
// cyrilgdn/postgresql, and a mount in OpenBao or Vault, by hashicorp/vault.
//
// Both hold what a machine can't be made again from. So they outlive the
// deployment: what gives up its state forgets them and removes nothing. No secret
// is in a state or a plan: the providers are configured by ephemeral variables, and
// the owner's password is write-only.
package inherent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// The providers, in the versions that the configuration is written for. The first
// whose roles have a write-only password is 1.26.0.
const (
	postgresqlSource  = "cyrilgdn/postgresql"
	postgresqlVersion = "1.26.0"
	vaultSource       = "hashicorp/vault"
	vaultVersion      = "5.3.0"
)

// DatabaseKeys are the coordinates of a database.
type DatabaseKeys struct {
	Host     env.Host   `env:"DATABASE_HOST,required" desc:"PostgreSQL server that the machine's database is made on"`
	Port     env.Port   `env:"DATABASE_PORT,default=5432" desc:"port of that server"`
	Admin    string     `env:"DATABASE_ADMIN,default=postgres" desc:"role that makes databases and roles there"`
	Secret   env.Secret `env:"DATABASE_ADMIN_PASSWORD,required" desc:"password of that role"`
	TLS      string     `env:"DATABASE_TLS,default=verify-full" oneof:"verify-full,verify-ca,require,disable" desc:"how the server proves who it is, as PostgreSQL's sslmode"`
	CA       env.Path   `env:"DATABASE_CA" desc:"certificate authorities of that server, in PEM, instead of this host's"`
	Password env.Secret `env:"DATABASE_PASSWORD,required" scope:"machine" desc:"password of the database's owner, which the machine knows too; without a backslash, and not the word null"`
	Version  env.Count  `env:"DATABASE_PASSWORD_VERSION,default=1" scope:"machine" desc:"another number than in the last run sets the owner's password anew"`
}

// MountKeys are the coordinates of a mount.
type MountKeys struct {
	Address   env.URL    `env:"VAULT_ADDR,required" desc:"address of the OpenBao or Vault that the machine's secrets engine is mounted in"`
	Token     env.Secret `env:"VAULT_TOKEN,required" desc:"token that may mount secrets engines there"`
	Namespace string     `env:"VAULT_NAMESPACE" desc:"namespace there"`
	CA        env.Path   `env:"VAULT_CACERT" desc:"certificate authorities of that server, in PEM, instead of this host's"`
}

// MirrorKeys say where the providers come from.
type MirrorKeys struct {
	Mirror env.Path `env:"TOFU_PROVIDER_MIRROR" desc:"folder that OpenTofu takes providers from, laid out as a filesystem mirror, instead of the registry"`
}

// State is what a machine has of it.
type State struct {
	machine  groups.Machine
	database DatabaseKeys
	mount    MountKeys
	mirror   MirrorKeys
}

// Of gives what is declared for a machine, which may be nothing.
func Of(machine groups.Machine) *State { return &State{machine: machine} }

// Coordinates are the keys of what there is. A verb that does not speak with the
// servers has to know their providers all the same, and so has one where nothing is
// declared any more and the state still tells of it.
func (s *State) Coordinates(speaks bool) []any {
	all := []any{&s.mirror}
	if speaks && s.machine.Database != nil {
		all = append(all, &s.database)
	}
	if speaks && s.machine.Mount != nil {
		all = append(all, &s.mount)
	}
	return all
}

// Check refuses what the providers would not take as it is given.
func (s *State) Check(speaks bool) error {
	if !speaks || s.machine.Database == nil {
		return nil
	}
	if why := s.database.unsettable(); why != nil {
		return &report.Fault{
			Code: report.Usage, What: "read the coordinates", Why: fmt.Errorf("DATABASE_PASSWORD: %w", why),
			Hint: "choose another password for the database's owner: any text without a backslash but the word null",
		}
	}
	return nil
}

// unsettable says why the owner could not log in by the password. The provider doubles
// backslashes within a text in which PostgreSQL takes them as they are, and has its own
// way with one word (cyrilgdn/postgresql 1.26.0, pqQuoteLiteral and resourcePostgreSQLRoleCreate).
func (k DatabaseKeys) unsettable() error {
	switch password := k.Password.Reveal(); {
	case strings.Contains(password, `\`):
		return errors.New("holds a backslash, and the provider " + postgresqlSource + " would set another password than this")
	case strings.EqualFold(password, "null"):
		return errors.New("is the word for none, and the provider " + postgresqlSource + " would set no password")
	}
	return nil
}

// Addresses are those of the resources that the machine needs.
func (s *State) Addresses() []string {
	var all []string
	if s.machine.Database != nil {
		all = append(all, "postgresql_database."+s.machine.Name)
	}
	if s.machine.Mount != nil {
		all = append(all, "vault_mount."+s.machine.Name)
	}
	return all
}

// Providers are those that the resources need, as OpenTofu's required_providers, of
// which a configuration has one block alone.
func (s *State) Providers() map[string]any {
	all := map[string]any{}
	if s.machine.Database != nil {
		all["postgresql"] = exactly(postgresqlSource, postgresqlVersion)
	}
	if s.machine.Mount != nil {
		all["vault"] = exactly(vaultSource, vaultVersion)
	}
	return all
}

// Stays tells of what holds something that no run can make again.
func Stays(kind string) bool {
	return kind == "postgresql_database" || kind == "postgresql_role" || kind == "vault_mount"
}

// file is what the resources are written to, beside the rest of the configuration.
const file = "inherent.tf.json"

// object is a JSON object of the configuration.
type object map[string]any

// Add writes the resources into a deployment that has files and variables, and the
// Providers in a file of its own. What differs from run to run comes in by variables, which are only given where a verb
// speaks with the servers.
func (s *State) Add(d *tofu.Deployment, speaks bool) error {
	if d.Mirror == "" {
		d.Mirror = string(s.mirror.Mirror)
	}
	if len(s.Addresses()) == 0 {
		return nil
	}
	c := &configuration{provider: object{}, variable: object{}, resource: object{}}
	values := map[string]env.Secret{}
	if db := s.machine.Database; db != nil {
		c.database(s.machine.Name, *db)
		maps.Copy(values, s.database.values())
	}
	if m := s.machine.Mount; m != nil {
		c.mount(s.machine.Name, *m)
		maps.Copy(values, s.mount.values())
	}
	text, err := json.Marshal(object{"provider": c.provider, "variable": c.variable, "resource": c.resource})
	if err != nil {
		return err
	}
	d.Files[file], d.Keeps = text, true
	if speaks {
		maps.Copy(d.Vars, values)
		d.Reach = s.reach
	}
	if s.machine.Mount != nil {
		if d.Env == nil {
			d.Env = map[string]string{}
		}
		d.Env[clientTimeout] = answerLimit.String()
	}
	return nil
}

func (k DatabaseKeys) values() map[string]env.Secret {
	return set(map[string]env.Secret{
		"database_host": env.NewSecret(inURL(string(k.Host))), "database_port": env.NewSecret(strconv.Itoa(int(k.Port))),
		"database_admin": env.NewSecret(k.Admin), "database_admin_password": k.Secret,
		"database_tls": env.NewSecret(k.TLS), "database_ca": env.NewSecret(string(k.CA)),
		"database_password": k.Password, "database_password_version": env.NewSecret(strconv.Itoa(int(k.Version))),
	})
}

// inURL writes a host as a URL has it: the provider makes one of host and port as they
// are given (cyrilgdn/postgresql 1.26.0, connStr).
func inURL(host string) string {
	if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
		return "[" + strings.ReplaceAll(host, "%", "%25") + "]" // before a zone, RFC 6874
	}
	return host
}

func (k MountKeys) values() map[string]env.Secret {
	return set(map[string]env.Secret{
		"vault_address": env.NewSecret(string(k.Address)), "vault_token": k.Token,
		"vault_namespace": env.NewSecret(k.Namespace), "vault_ca": env.NewSecret(string(k.CA)),
	})
}

// set leaves out what is empty, which is null then.
func set(values map[string]env.Secret) map[string]env.Secret {
	maps.DeleteFunc(values, func(_ string, v env.Secret) bool { return !v.IsSet() || v.Reveal() == "" })
	return values
}
