package incus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// within refuses what a certificate that is restricted to a project may not do,
// with the reason, before anything is evaluated or asked (Incus documentation,
// "Project configuration", the settings restricted.* with their defaults; and
// "Restricted TLS certificates").
func (p plan) within() error {
	var faults []error
	fault := func(what, why string) { faults = append(faults, fmt.Errorf("%s: %s", what, why)) }
	for _, name := range p.makes {
		if name == makesProfile {
			continue // in a project with features.profiles=true
		}
		fault("INCUS_MAKES="+name, "a restricted certificate makes and changes no "+name+": who runs the server does, by tf-incus")
	}
	if p.target != "" {
		fault("INCUS_TARGET="+p.target, "a restricted project does not choose the members of a cluster (restricted.cluster.target)")
	}
	for _, key := range slices.Sorted(maps.Keys(p.config)) {
		if why := forbiddenSetting(key, p.config[key]); why != "" {
			fault("setting "+key, why)
		}
	}
	for _, d := range p.devices {
		if why := d.forbidden(); why != "" {
			fault("device "+d.Name, why)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &report.Fault{
		Code: report.Usage, What: "make the machine with a restricted certificate", Why: errors.Join(faults...),
		Hint: "by tf-incus it can be made, with a certificate that is not restricted",
	}
}

// lowLevel are the settings that count as such beside raw.*.
var lowLevel = []string{
	"boot.host_shutdown_action", "boot.host_shutdown_timeout", "linux.kernel_modules", "limits.memory.hugepages",
	"limits.memory.oom_priority", "limits.memory.swap", "security.guestapi.images", "security.idmap.base", "security.idmap.size",
}

func forbiddenSetting(key, value string) string {
	switch {
	case strings.HasPrefix(key, "raw."):
		return "a restricted project passes nothing to what runs its instances (restricted.containers.lowlevel, restricted.virtual-machines.lowlevel)"
	case strings.HasPrefix(key, "volatile."):
		return "a restricted project leaves to the server what is the server's"
	case key == "security.privileged" && value != "false":
		return "the containers of a restricted project are unprivileged (restricted.containers.privilege)"
	case strings.HasPrefix(key, "security.syscalls.intercept."):
		return "a restricted project intercepts no system calls (restricted.containers.interception)"
	case strings.HasPrefix(key, "security.bpffs."), slices.Contains(lowLevel, key):
		return "a restricted project changes nothing of the host that it shares (restricted.containers.lowlevel, restricted.virtual-machines.lowlevel)"
	}
	return ""
}

// forbidden is why a restricted project has no such device; empty where it may.
func (d device) forbidden() string {
	switch d.Type {
	case "nic":
		for _, key := range []string{"nictype", "parent"} {
			if d.Properties[key] != "" {
				return key + ": a restricted project attaches to managed networks alone, by their name in network (restricted.devices.nic)"
			}
		}
		if d.Properties["network"] == "" {
			return "names no network, and a restricted project attaches to managed ones alone (restricted.devices.nic)"
		}
	case "disk":
		if d.Properties["pool"] == "" {
			return "is in no pool, and a restricted project has managed disks alone (restricted.devices.disk)"
		}
	case "proxy":
		return "a restricted project opens no ports of its host (restricted.devices.proxy)"
	case "none", "tpm":
	default:
		return "a restricted project reaches no hardware of its host (restricted.devices." + d.Type + ")"
	}
	return ""
}
