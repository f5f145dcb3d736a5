package deploy

import "fediversity.eu/slipway/targets/env"

// Keys are the coordinates of a machine that is reached over ssh.
type Keys struct {
	Host    env.Host  `env:"SSH_HOST,required" scope:"machine" desc:"name or address of the machine"`
	Port    env.Port  `env:"SSH_PORT,default=22" scope:"machine" desc:"port of its ssh server"`
	HostKey env.Lines `env:"SSH_HOST_KEY,required" scope:"machine" desc:"public host keys of the machine, one a line, as ssh-keyscan prints them or as they stand in /etc/ssh/ssh_host_*_key.pub"`

	Login
}

// Login are the coordinates of how a machine is logged in to, wherever it is.
type Login struct {
	User      string       `env:"SSH_USER,default=root" desc:"user to log in as; any but root needs sudo without a password"`
	Key       env.Secret   `env:"SSH_KEY" desc:"private key that opens the machine, in OpenSSH or PEM form; one with a passphrase works where the agent of SSH_AUTH_SOCK holds it too" lines:"several"`
	Agent     env.Path     `env:"SSH_AUTH_SOCK" desc:"socket of an ssh agent that holds keys"`
	Jump      env.Text     `env:"SSH_JUMP" desc:"hosts to go through, as user@host:port, separated by commas"`
	JumpKeys  env.Lines    `env:"SSH_JUMP_HOST_KEY" desc:"public host keys of the hosts to go through, one a line; of several hosts each with its host before it, as in known_hosts"`
	Connect   env.Duration `env:"SSH_CONNECT_TIMEOUT,default=30s" desc:"how long a connection may take, from address to login"`
	KeepAlive env.Duration `env:"SSH_KEEPALIVE,default=15s" desc:"how often an idle connection is tried; three that go unanswered end it"`
}

// CopyKeys are the coordinates of a copy to a machine.
type CopyKeys struct {
	Substitute env.Bool `env:"SSH_SUBSTITUTE,default=false" desc:"whether the machine first fetches what it can from its own binary caches"`
}

// SwitchKeys are the coordinates of a change of a machine's system.
type SwitchKeys struct {
	Limit         env.Duration      `env:"SSH_SWITCH_TIMEOUT,default=15m" desc:"how long a switch may take; then the machine ends it and goes back by itself, or, where that is off, its outcome counts as unknown"`
	Confirm       env.DurationOrOff `env:"SSH_CONFIRM_TIMEOUT,default=60s" desc:"how long after a switch the machine waits for a new login before it goes back by itself"`
	RollbackOn    string            `env:"ROLLBACK_ON,default=unconfirmed" oneof:"never,unconfirmed,unhealthy" desc:"when a machine goes back to the system that it came from: never, when nobody can log in to the new one, or also when the new one is unhealthy"`
	Reboot        string            `env:"SSH_REBOOT,default=never" oneof:"never,if-needed,always" desc:"whether a change ends with a reboot: never, when the new system needs one, or always"`
	RebootTimeout env.Duration      `env:"SSH_REBOOT_TIMEOUT,default=10m" desc:"how long a reboot may take until the machine can be reached again"`
}

// OwnerKeys are the coordinates of whose a machine is.
type OwnerKeys struct {
	TakeOver string `env:"TAKE_OVER" scope:"machine" desc:"whose mark a machine may bear that this deployment takes over from it, as the refusal names it"`
}

// RollbackKeys are the further coordinates of a rollback.
type RollbackKeys struct {
	Generation env.Count `env:"GENERATION" scope:"machine" desc:"generation to go back to, as generations lists them; by default the one before"`
}

// VerdictKeys are the coordinates of a verdict.
type VerdictKeys struct {
	Limit    env.Duration `env:"VERDICT_TIMEOUT,default=5m" desc:"how long the units of a machine may take to settle; what is starting then counts as stuck"`
	Baseline string       `env:"VERDICT_BASELINE,default=ignore" oneof:"ignore,fail" desc:"what becomes of units that were broken before the switch and are unchanged: reported only, or unhealthy as others are"`
	Tolerate env.Names    `env:"VERDICT_TOLERATE" desc:"units whose faults are shown and do not count, as names or patterns such as acme-*.service, separated by commas or blanks"`
}

// ChangeKeys are all coordinates of a change, from the copy to the verdict.
type ChangeKeys struct {
	Owner   OwnerKeys
	Copy    CopyKeys
	Switch  SwitchKeys
	Verdict VerdictKeys
}

// Coordinates are the structs of the keys.
func (k *ChangeKeys) Coordinates() []any { return []any{&k.Owner, &k.Copy, &k.Switch, &k.Verdict} }

// Check looks at the coordinates before anything starts.
func (k *ChangeKeys) Check() error { return k.Verdict.check() }

// Reboots tells whether a change may end with a reboot.
func (k SwitchKeys) Reboots() bool { return k.Reboot != rebootNever }
