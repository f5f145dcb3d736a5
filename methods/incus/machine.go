package incus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// machine is one machine on Incus.
type machine struct {
	deployment methods.Deployment
	restricted bool

	server   incus.Keys
	login    deploy.Login
	start    startKeys
	keys     makeKeys
	provider providerKeys
}

var _ made.Machine = (*machine)(nil)

// name is what the machine is called on the server.
func (m *machine) name() string {
	return m.deployment.Group.Name + "-" + m.deployment.Machine.Name
}

// Coordinates are the keys of the server and of the login.
func (m *machine) Coordinates() []any { return []any{&m.server, &m.login, &m.start} }

// Check looks at them before anything starts.
func (m *machine) Check() error {
	_, err := m.server.Remote()
	return errors.Join(err, m.login.Check())
}

// makes tells whether a verb plans, and so needs to know what the machine is to be.
func makes(verb string) bool {
	switch verb {
	case tofu.Apply, tofu.PlanVerb, tofu.Refresh, tofu.Import, tofu.Destroy, tofu.Validate:
		return true
	}
	return false
}

// connects tells whether a verb asks the server.
func connects(verb string) bool { return makes(verb) && verb != tofu.Validate }

// Keys are what a verb reads beyond the way.
func (m *machine) Keys(verb string) []any {
	if verb == tofu.ForceUnlock {
		return nil
	}
	if !makes(verb) {
		return []any{&m.provider}
	}
	if !connects(verb) {
		return append(m.Coordinates(), &m.provider, &m.keys)
	}
	return []any{&m.provider, &m.keys}
}

// CheckKeys looks at them, and refuses what a restricted certificate may not do.
func (m *machine) CheckKeys(verb string) error {
	if !makes(verb) {
		return nil
	}
	p, err := m.plan()
	if err != nil || !m.restricted {
		return err
	}
	return p.within()
}

// Placement tells the machine's modules what kind of machine it is.
func (m *machine) Placement() string {
	if m.deployment.Machine.Incus.VM {
		return "incus-vm"
	}
	return "incus-container"
}

// Find looks for the machine on the server, and takes its address and its host key
// from there.
func (m *machine) Find(ctx context.Context, run *task.Run) (deploy.Reached, error) {
	client, err := m.server.Connect(ctx, run.Log)
	if err != nil {
		return deploy.Reached{}, err
	}
	defer client.Close()
	return m.find(ctx, client)
}

// hostKey is where a machine has the public half of the host key that it made.
const hostKey = "/etc/ssh/ssh_host_ed25519_key.pub"

func (m *machine) find(ctx context.Context, client *incus.Client) (deploy.Reached, error) {
	notThere := func(why error) error {
		return report.Refuse("find "+m.name()+" on Incus", fmt.Errorf("%w: %w", deploy.ErrNotThere, why), "apply makes and starts it")
	}
	if ours, err := m.ours(ctx, client, "instances", m.name()); err != nil || !ours {
		if err == nil {
			err = notThere(fmt.Errorf("project %s of %s has no such instance", client.Project(), client.Address()))
		}
		return deploy.Reached{}, err
	}
	i, err := client.Instance(ctx, m.name())
	switch {
	case err != nil:
		return deploy.Reached{}, unknown("look at the instance", err)
	case !i.Running:
		return deploy.Reached{}, notThere(errors.New("it does not run"))
	case len(i.Addresses) == 0:
		return deploy.Reached{}, unknown("look at the instance", errors.New("it has no address"))
	}
	key, err := client.File(ctx, m.name(), hostKey)
	if err == nil && len(bytes.TrimSpace(key)) == 0 {
		err = errors.New("it is there and not yet written")
	}
	if err != nil {
		return deploy.Reached{}, unknown("read its host key", err)
	}
	const sshPort = 22
	target, err := m.login.Target(i.Addresses[0], sshPort, []string{strings.TrimSpace(string(key))})
	return deploy.Reached{Target: target, Addresses: told(i.Addresses)}, err
}

// told keeps those addresses that others are told of: where one is public, those that
// are not lead nobody anywhere (RFC 1918, RFC 4193).
func told(addresses []string) []string {
	private := func(text string) bool {
		address, err := netip.ParseAddr(text)
		return err != nil || address.IsPrivate()
	}
	public := slices.DeleteFunc(slices.Clone(addresses), private)
	if len(public) == 0 {
		return addresses
	}
	return public
}

func unknown(what string, err error) error {
	return &report.Fault{Code: report.Unknown, What: what, Why: err, Hint: "the server or the machine's console may say why"}
}

// Up waits until the machine can be logged in to. It is there already: its
// resources come before its system.
func (m *machine) Up(ctx context.Context, run *task.Run) (deploy.Reached, error) {
	defer run.Record.Time("boot")()
	client, err := m.server.Connect(ctx, run.Log)
	if err != nil {
		return deploy.Reached{}, err
	}
	defer client.Close()
	var reached deploy.Reached
	up := wait.For{What: "ssh of " + m.name(), Limit: time.Duration(m.start.Limit), Try: 30 * time.Second, Interval: 100 * time.Millisecond}
	err = up.Until(ctx, func(ctx context.Context) error {
		if reached, err = m.find(ctx, client); err != nil {
			if report.CodeOf(err) != report.Unknown {
				return wait.Stop(err)
			}
			return err
		}
		conn, err := remote.Dial(ctx, reached.Target)
		if reached.Target.BarredOnTheWay(err) {
			return wait.Stop(err)
		}
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return reached, err
}

// mark is the setting by which a thing on the server is known to be a
// deployment's.
const mark = "user.slipway.deployment"

// ours tells whether the server has a thing of this deployment's. One of the same
// name that is another's is an error: nothing may be done about it.
func (m *machine) ours(ctx context.Context, client *incus.Client, parts ...string) (bool, error) {
	o, there, err := m.thing(ctx, client, parts...)
	if err == nil && there && o.Config[mark] != m.name() {
		err = report.Refuse("look at "+strings.Join(parts, " "),
			fmt.Errorf("the server has one that is none of this deployment's: %s is %q there", mark, o.Config[mark]),
			"remove or rename it, or set "+mark+"="+m.name()+" on it for this deployment to take it over; nothing was changed")
	}
	return there && err == nil, err
}

// mine is ours, for who does not mind another's.
func (m *machine) mine(ctx context.Context, client *incus.Client, parts ...string) (bool, error) {
	o, there, err := m.thing(ctx, client, parts...)
	return there && o.Config[mark] == m.name(), err
}

// thing looks for one on the server.
func (m *machine) thing(ctx context.Context, client *incus.Client, parts ...string) (incus.Object, bool, error) {
	project := client.Project()
	if parts[0] == "projects" {
		project = ""
	}
	if parts[0] == "networks" {
		project = "default"
	}
	o, err := client.Get(ctx, project, parts...)
	if incus.Absent(err) {
		return o, false, nil
	}
	if err != nil {
		return o, false, unknown("look at "+strings.Join(parts, " "), err)
	}
	return o, true, nil
}
