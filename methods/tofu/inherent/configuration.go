package inherent

import (
	"strconv"
	"time"

	"fediversity.eu/slipway/groups"
)

// configuration is what OpenTofu is told of the resources.
type configuration struct{ provider, variable, resource object }

// keep has OpenTofu forget a resource where it would remove it (OpenTofu 1.12,
// lifecycle.destroy).
var keep = object{"destroy": false}

// exactly is a provider in one version.
func exactly(source, version string) object {
	return object{"source": source, "version": "= " + version}
}

// input declares a variable that is in no state and no plan, and refers to it.
func (c *configuration) input(name, kind string) string {
	c.variable[name] = object{"type": kind, "default": nil, "ephemeral": true, "sensitive": true}
	return "${var." + name + "}"
}

func (c *configuration) database(machine string, db groups.Database) {
	c.provider["postgresql"] = object{
		"host": c.input("database_host", "string"), "port": c.input("database_port", "number"),
		"username": c.input("database_admin", "string"), "password": c.input("database_admin_password", "string"),
		"sslmode": c.input("database_tls", "string"), "sslrootcert": c.input("database_ca", "string"),
		"connect_timeout": int(answerLimit / time.Second), // of 180, where the provider is given none
		// The servers that others run give no superuser away.
		"database": "postgres", "superuser": false,
	}
	// Its version is kept in the state: by it a new password is told from the old.
	c.variable["database_password_version"] = object{"type": "string", "default": "1"}
	role := "postgresql_role." + machine
	c.resource["postgresql_role"] = object{machine: object{
		"name": db.Role(), "login": true,
		"password_wo": c.input("database_password", "string"), "password_wo_version": "${var.database_password_version}",
		"lifecycle": keep,
	}}
	c.resource["postgresql_database"] = object{machine: object{
		"name": db.Name, "owner": "${" + role + ".name}", "lifecycle": keep,
	}}
}

func (c *configuration) mount(machine string, m groups.Mount) {
	c.provider["vault"] = object{
		"address": c.input("vault_address", "string"), "token": c.input("vault_token", "string"),
		"namespace": c.input("vault_namespace", "string"), "ca_cert_file": c.input("vault_ca", "string"),
		// A token that may mount need not be one that may make tokens.
		"skip_child_token": true,
	}
	resource := object{"path": m.Path, "type": m.Kind(), "lifecycle": keep}
	if m.Kind() == groups.DefaultMount {
		version := m.Version
		if version == 0 {
			version = 2
		}
		resource["options"] = object{"version": strconv.Itoa(version)}
	}
	c.resource["vault_mount"] = object{machine: resource}
}
