// Package setup installs what the project needs on a Debian or Ubuntu host
// beyond Go. It says what it will do, does nothing twice, and elsewhere says
// what is missing.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Run installs those of the parts that are missing or too old.
func Run(ctx context.Context, environment env.Environment, log *report.Log, parts []Part) error {
	h := host{parts: parts, env: environment.Child(map[string]string{"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}), log: log}
	if _, err := child.Find("dpkg-query", h.env); err != nil {
		return h.elsewhere()
	}
	missing, err := h.missing(ctx)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		log.Infof("everything is there: %d packages", len(parts))
		return nil
	}
	log.Infof("installing %d Debian packages:", len(missing))
	for _, part := range missing {
		log.Infof("  %s %s or later, which %s", part.Package, part.Minimum, part.Why)
	}
	if err := h.install(ctx, missing); err != nil {
		return err
	}
	left, err := h.missing(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return report.Fail("install packages", errors.New(describe(left)+": still missing, or older than needed"),
			"this release is too old; Debian 12 and later have what is needed")
	}
	log.Infof("everything is there now")
	return nil
}

// host is where things get installed.
type host struct {
	parts []Part
	env   []string
	log   *report.Log
}

// elsewhere is what can be said on a host without dpkg.
func (h host) elsewhere() error {
	var missing []Part
	for _, part := range h.parts {
		if part.Program == "" {
			continue
		}
		if _, err := child.Find(part.Program, h.env); err != nil {
			missing = append(missing, part)
		}
	}
	if len(missing) == 0 {
		h.log.Infof("this is no Debian or Ubuntu, but every program that is needed is there")
		return nil
	}
	for _, part := range missing {
		h.log.Infof("missing: %s (%s or later), which %s", part.Program, part.Minimum, part.Why)
	}
	return report.Refuse("install packages", fmt.Errorf("this is no Debian or Ubuntu, and %d programs are missing", len(missing)),
		"install them with this system's own package manager")
}

// missing lists the parts that are not installed, or too old. Those that are have no
// services for us: what runs of them is somebody's.
func (h host) missing(ctx context.Context) ([]Part, error) {
	args := []string{"-W", "-f", "${Package} ${db:Status-Status} ${Version}\n"}
	for _, part := range h.parts {
		args = append(args, part.Package)
	}
	out, err := child.Command{Path: "dpkg-query", Args: args, Env: h.env}.Output(ctx)
	var failure *child.Error
	if err != nil && (!errors.As(err, &failure) || failure.ExitCode != 1) { // 1: some are not known
		return nil, fmt.Errorf("ask for installed packages: %w", err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[1] == "installed" {
			versions[fields[0]] = fields[2]
		}
	}
	var missing []Part
	for _, part := range h.parts {
		version, ok := versions[part.Package]
		if ok && h.atLeast(ctx, version, part.Minimum) {
			continue
		}
		if ok {
			part.Services = nil
		}
		missing = append(missing, part)
	}
	return missing, nil
}

func (h host) atLeast(ctx context.Context, version, minimum string) bool {
	return child.Command{
		Path: "dpkg", Args: []string{"--compare-versions", version, "ge", minimum}, Env: h.env,
	}.Run(ctx) == nil
}

// install has apt install packages, with their daemons held back.
func (h host) install(ctx context.Context, parts []Part) error {
	var names []string
	for _, part := range parts {
		names = append(names, part.Package)
	}
	steps := []string{
		"apt-get --quiet update",
		holdDaemons + "apt-get --quiet --yes --no-install-recommends install " + strings.Join(names, " "),
	}
	for _, part := range parts {
		for _, service := range part.Services {
			steps = append(steps, "if [ -d /run/systemd/system ]; then systemctl --quiet disable "+service+" || :; fi")
		}
	}
	script := "set -e\n" + strings.Join(steps, "\n") + "\n"
	argv := []string{"sh", "-c", script}
	if os.Geteuid() != 0 {
		argv = append([]string{"sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"}, argv...)
	}
	lines := h.log.Lines()
	defer func() { _ = lines.Close() }()
	err := child.Command{Path: argv[0], Args: argv[1:], Env: h.env, Stdout: lines, Stderr: lines}.Run(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return report.Fail("install packages", err,
		"as root, or with sudo: apt-get install "+strings.Join(names, " "))
}

// holdDaemons keeps packages from starting their services while they are
// installed (policy-rc.d, Debian's invoke-rc.d interface), unless the host has a
// policy of its own.
const holdDaemons = `if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  trap 'exit 143' INT TERM HUP
  printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d
fi
`

func describe(parts []Part) string {
	var names []string
	for _, part := range parts {
		names = append(names, part.Package+" "+part.Minimum)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
