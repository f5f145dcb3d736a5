package incus

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	xssh "golang.org/x/crypto/ssh"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// startKeys say how long a machine may take to come up.
type startKeys struct {
	Limit env.Duration `env:"INCUS_START_TIMEOUT,default=5m" desc:"how long a machine on Incus may take until it can be logged in to"`
}

// makeKeys say what a machine is made of beyond its declaration.
type makeKeys struct {
	Network   string    `env:"INCUS_NETWORK,default=incusbr0" desc:"network of the server that machines are attached to"`
	Pool      string    `env:"INCUS_POOL,default=default" desc:"storage pool of the server that disks are made in"`
	Image     string    `env:"INCUS_IMAGE" scope:"machine" desc:"image to make the machine from, as alias or fingerprint; by default the one that the effect image published for it"`
	IPv4      string    `env:"INCUS_IPV4" scope:"machine" desc:"address that the machine gets on its network; by default the network chooses"`
	Config    env.Text  `env:"INCUS_CONFIG" scope:"machine" desc:"further settings of the machine on Incus, as a JSON object; they win over those declared"`
	Devices   env.Text  `env:"INCUS_DEVICES" scope:"machine" desc:"further devices of the machine on Incus, as a JSON object of objects, each with its type; they win over those declared"`
	Target    string    `env:"INCUS_TARGET" scope:"machine" desc:"member of the cluster to make the machine on"`
	Makes     env.Names `env:"INCUS_MAKES" scope:"machine" desc:"what of its surroundings the deployment makes and removes together with the machine: project (INCUS_PROJECT), network (INCUS_NETWORK), and profile, one of its own with its settings and devices; by default they are there, and settings and devices are the machine's"`
	Profiles  env.Names `env:"INCUS_PROFILES" scope:"machine" desc:"profiles of the project that the machine uses, in this order and before its own; they are there already; by default none"`
	Bridge    env.Text  `env:"INCUS_NETWORK_CONFIG" scope:"machine" desc:"settings of the network, as a JSON object, where INCUS_MAKES names it"`
	LoginKeys env.Lines `env:"INCUS_LOGIN_KEYS" desc:"public keys that open a new machine, one a line; by default that of SSH_KEY"`
}

// providerKeys say where the provider comes from.
type providerKeys struct {
	Mirror env.Path `env:"TOFU_PROVIDER_MIRROR" desc:"folder that OpenTofu takes providers from, laid out as a filesystem mirror, instead of the registry"`
}

// What INCUS_MAKES may name.
const (
	makesProject = "project"
	makesNetwork = "network"
	makesProfile = "profile"
)

var (
	serverName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
	profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	networkName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`) // an interface of Linux is called so
)

// device is a device as OpenTofu gets it.
type device struct {
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Properties map[string]string `json:"properties"`
}

// plan is what a machine is to be, declaration and coordinates taken together.
type plan struct {
	name    string
	image   string // alias or fingerprint
	config  map[string]string
	devices []device
	volumes []groups.Volume
	target  string
	makes   []string
	uses    []string // profiles that are there
	bridge  map[string]string
	login   []string
}

// plan takes declaration and coordinates together. It names everything that is
// wrong with them at once.
func (m *machine) plan() (plan, error) {
	where, k := m.deployment.Machine.Incus, m.keys
	p := plan{
		name: m.name(), image: k.Image, config: map[string]string{}, volumes: where.Volumes,
		target: k.Target, makes: k.Makes, uses: k.Profiles, login: k.LoginKeys,
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if p.image == "" {
		image := where.Image
		if image == "" {
			image = groups.BaseImage
		}
		p.image = groups.ImageName(m.deployment.Group.Name, image)
	}
	if !networkName.MatchString(k.Network) {
		fault("INCUS_NETWORK: %q is no name of a network", k.Network)
	}
	if !serverName.MatchString(k.Pool) {
		fault("INCUS_POOL: %q is no name of a storage pool", k.Pool)
	}
	if a, err := netip.ParseAddr(k.IPv4); k.IPv4 != "" && (err != nil || !a.Is4()) {
		fault("INCUS_IPV4: %q is no IPv4 address", k.IPv4)
	}
	for _, name := range p.makes {
		if name != makesProject && name != makesNetwork && name != makesProfile {
			fault("INCUS_MAKES: %q is none of %s, %s and %s", name, makesProject, makesNetwork, makesProfile)
		}
	}
	for i, name := range p.uses {
		switch {
		case !profileName.MatchString(name):
			fault("INCUS_PROFILES: %q is no name of a profile", name)
		case slices.Contains(p.uses[:i], name):
			fault("INCUS_PROFILES: names %s twice", name)
		case name == p.name && slices.Contains(p.makes, makesProfile):
			fault("INCUS_PROFILES: %s is the one that INCUS_MAKES makes, and comes last by itself", name)
		}
	}
	if keeps := slices.ContainsFunc(m.deployment.Machine.Incus.Volumes, func(v groups.Volume) bool { return v.Keep }); keeps && slices.Contains(p.makes, makesProject) {
		fault("INCUS_MAKES: a project can't be removed while a volume of the machine stays in it: name one in INCUS_PROJECT that is there")
	}
	if slices.Contains(p.makes, makesProject) && m.server.Project == "default" {
		fault("INCUS_MAKES: the project default is there on every server: name another in INCUS_PROJECT")
	}
	maps.Copy(p.config, m.settings())
	config := map[string]string{}
	if err := object(k.Config, &config); err != nil {
		fault("INCUS_CONFIG: %w", err)
	}
	for _, name := range groups.Unset(config) {
		fault("INCUS_CONFIG: %s is empty: %s", name, emptySetting)
	}
	maps.Copy(p.config, config)
	p.config[mark] = m.name() // whatever else is said
	if err := object(k.Bridge, &p.bridge); err != nil {
		fault("INCUS_NETWORK_CONFIG: %w", err)
	}
	for _, name := range groups.Unset(p.bridge) {
		fault("INCUS_NETWORK_CONFIG: %s is empty: %s", name, emptySetting)
	}
	devices := map[string]map[string]string{}
	if err := object(k.Devices, &devices); err != nil {
		fault("INCUS_DEVICES: %w", err)
	}
	for _, device := range slices.Sorted(maps.Keys(devices)) {
		for _, name := range groups.Unset(devices[device]) {
			if name != "type" {
				fault("INCUS_DEVICES: %s of %s is empty: %s", name, device, emptySetting)
			}
		}
	}
	p.devices = m.devices(devices)
	for _, d := range p.devices {
		if d.Type == "" {
			fault("INCUS_DEVICES: %s has no type", d.Name)
		}
	}
	if len(p.login) == 0 && m.login.Key.IsSet() {
		signer, err := remote.ParsePrivateKey([]byte(m.login.Key.Reveal()))
		locked, isLocked := errors.AsType[*remote.LockedKeyError](err)
		switch { // of any other fault, the way in says what it is
		case err == nil:
			p.login = []string{authorized(signer.PublicKey())}
		case isLocked && locked.Public != nil:
			p.login = []string{authorized(locked.Public)}
		case isLocked:
			fault("INCUS_LOGIN_KEYS: is not set, and SSH_KEY, which has a passphrase, does not show its public half: nobody could log in to the new machine")
		}
	}
	if len(p.login) == 0 && !m.login.Key.IsSet() {
		fault("INCUS_LOGIN_KEYS: is not set, and there is no SSH_KEY to take it from: nobody could log in to the new machine")
	}
	for _, key := range p.login {
		if _, _, _, _, err := xssh.ParseAuthorizedKey([]byte(key)); err != nil {
			fault("INCUS_LOGIN_KEYS: %q is no public key", key)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return p, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	return p, nil
}

// emptySetting is what to do about one. Incus takes it for none, and the provider for a
// setting that it made and that is gone: the machine would be made anew by every apply.
const emptySetting = "Incus takes that for no setting at all; leave it out, or give what is to be instead, such as the default that Incus documents"

// authorized is a public key as authorized keys have it.
func authorized(key xssh.PublicKey) string {
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(key)))
}

// object reads a JSON object that may be absent.
func object(text env.Text, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("not a JSON object of texts: %w", err)
	}
	return nil
}
