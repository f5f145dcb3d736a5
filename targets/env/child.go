package env

import (
	"cmp"
	"maps"
	"os"
	"slices"
)

// Variable is a name with the reason why it is on a list.
type Variable struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// defaultPath is where programs are looked for when no PATH is set, as under some
// service managers: NixOS, Nix elsewhere, then the usual folders.
const defaultPath = "/run/wrappers/bin:/run/current-system/sw/bin:/nix/var/nix/profiles/default/bin:" +
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Fixed returns the variables that every child process gets from this process
// without being declared, sorted, with the reason of each.
func Fixed() []Variable {
	return []Variable{
		{"HOME", "configuration, known hosts and caches of the programs that are called"},
		{"LANG", "language and character set of messages"},
		{"LC_ALL", "overrides LANG"},
		{"LOGNAME", "name of the user, as POSIX has it"},
		{"NIX_SSL_CERT_FILE", "certificate authorities, for Nix"},
		{"PATH", "where programs are looked for; a usual one where it is unset"},
		{"SSL_CERT_FILE", "certificate authorities, for the others"},
		{"TERM", "what the terminal can show"},
		{"TMPDIR", "where temporary files go"},
		{"USER", "name of the user; Nix finds its profiles by it"},
		{"XDG_CACHE_HOME", "where caches go"},
	}
}

func isFixed(name string) bool {
	return slices.ContainsFunc(Fixed(), func(v Variable) bool { return v.Name == name })
}

// Child returns the whole environment of a child process as sorted "NAME=value":
// what is set of the Fixed variables, and own, which wins. Nothing else of e
// reaches a child; declared keys are handed on by naming them in own.
func (e Environment) Child(own map[string]string) []string {
	all := map[string]string{"PATH": defaultPath}
	for _, v := range Fixed() {
		if value := e.value(v.Name); value != "" {
			all[v.Name] = value
		}
	}
	maps.Copy(all, own)
	entries := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, name+"="+all[name])
	}
	return entries
}

// Authorities gives the file with the certificate authorities that a child process is
// to trust, for one that looks in a variable of its own; "" means that none is named.
func (e Environment) Authorities() string {
	return cmp.Or(e.value("SSL_CERT_FILE"), e.value("NIX_SSL_CERT_FILE"))
}

// DumbTerminal says whether TERM, one of the Fixed variables, names a terminal
// that only takes lines.
func (e Environment) DumbTerminal() bool { return e.value("TERM") == "dumb" }

// Inherited returns this process's whole environment. It is for a process that
// stands between a program of ours and a child, whose environment Child composed
// already, and for a person's own shell, and for nothing else.
func Inherited() []string { return os.Environ() }
