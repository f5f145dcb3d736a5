package env

import (
	"maps"
	"slices"
	"strings"
)

// Typo is a variable that is set, not declared, and nearly called like one that is.
type Typo struct {
	Name  string `json:"name"`  // the variable that is set
	Meant string `json:"meant"` // the nearest declared one
}

// String returns the warning for a person; it names no value.
func (t Typo) String() string {
	return t.Name + " is set but not declared; did you mean " + t.Meant + "?"
}

// foreign are variables of other programs that lie near names of our kind.
var foreign = strings.Fields(`
	SSH_AGENT_LAUNCHER SSH_AGENT_PID SSH_ASKPASS SSH_ASKPASS_REQUIRE SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION
	SSH_ORIGINAL_COMMAND SSH_SK_HELPER SSH_SK_PROVIDER SSH_TTY SSH_USER_AUTH
	TF_APPEND_USER_AGENT TF_CLI_ARGS TF_CLI_CONFIG_FILE TF_DATA_DIR TF_ENCRYPTION TF_IGNORE TF_INPUT TF_IN_AUTOMATION
	TF_LOG TF_LOG_CORE TF_LOG_PATH TF_LOG_PROVIDER TF_PLUGIN_CACHE_DIR TF_REATTACH_PROVIDERS TF_REGISTRY_CLIENT_TIMEOUT
	TF_REGISTRY_DISCOVERY_RETRY TF_STATE_PERSIST_INTERVAL TF_WORKSPACE
	NIX_BUILD_CORES NIX_BUILD_TOP NIX_CONFIG NIX_CONF_DIR NIX_DAEMON_SOCKET_PATH NIX_GCROOT NIX_LOG_DIR NIX_PATH NIX_PROFILES
	NIX_REMOTE NIX_SSHOPTS NIX_SSL_CERT_FILE NIX_STATE_DIR NIX_STORE NIX_STORE_DIR NIX_USER_CONF_FILES NIX_USER_PROFILE_DIR
	LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME
	XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_CURRENT_DESKTOP XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR
	XDG_SEAT XDG_SESSION_CLASS XDG_SESSION_ID XDG_SESSION_TYPE XDG_STATE_HOME XDG_VTNR
	HOSTNAME HOSTTYPE PWD OLDPWD SHELL SHLVL EDITOR PAGER DISPLAY MAIL MACHTYPE OSTYPE COLORTERM COLUMNS LINES TZ
`)

// Typos returns the variables of e that are one or two letters away from a name
// that declared has for one of owners, machines and groups, or for all, and start
// alike: in the first word or, where a name has only one, in three letters. Owners'
// names are not guessed at: DB_2_SSH_HOST may well belong to another run. Sorted by
// name.
func (e Environment) Typos(declared []Key, owners []string) []Typo {
	var names []string
	for _, k := range declared {
		names = append(names, k.Variables()...)
	}
	slices.Sort(names)
	prefixes := make(map[string]bool, len(owners))
	for _, owner := range owners {
		prefixes[prefix(owner)] = true
	}
	var typos []Typo
	for _, name := range slices.Sorted(maps.Keys(e.snapshot().values)) {
		if near := nearest(name, names, prefixes); near != "" {
			typos = append(typos, Typo{Name: name, Meant: near})
		}
	}
	return typos
}

// Near returns the one of names that name is nearly called like, as [Environment.Typos]
// has it; "" where it is one of them or near to none.
func Near(name string, names []string) string {
	return nearest(name, slices.Sorted(slices.Values(names)), nil)
}

// nearest returns the one of names, which are sorted, that is nearest to variable,
// plain or behind one of prefixes; "" where variable is right or near to none.
func nearest(variable string, names []string, prefixes map[string]bool) string {
	if isFixed(variable) || slices.Contains(foreign, variable) {
		return ""
	}
	found, least := "", 3
	consider := func(before string) {
		own := variable[len(before):]
		for _, name := range names {
			if name != own && !startAlike(own, name) {
				continue
			}
			if d := distance(own, name, least); d < least {
				found, least = before+name, d
			}
		}
	}
	consider("")
	for i := range variable {
		if variable[i] == '_' && prefixes[variable[:i]] {
			consider(variable[:i+1])
		}
	}
	if least == 0 {
		return ""
	}
	return found
}

// startAlike says whether a and b may be the same name for what they start with.
func startAlike(a, b string) bool {
	firstA, _, severalA := strings.Cut(a, "_")
	firstB, _, severalB := strings.Cut(b, "_")
	if severalA && severalB {
		return firstA == firstB
	}
	return len(a) >= 3 && len(b) >= 3 && a[:3] == b[:3]
}

// distance counts the letters to insert, leave out, replace or swap with their
// neighbour to get from a to b, or returns limit where it is that or more.
func distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last = last, row
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return min(row[len(b)], limit)
}
