package setup

// Part is something that the project needs on a host beyond Go.
type Part struct {
	Package string // of Debian and Ubuntu
	Minimum string // the oldest version that will do, as dpkg compares versions
	Program string // shows elsewhere whether the part is there
	Why     string
	// Services are what the package would have the system start, which the
	// project has no use for.
	Services []string
}

// Parts lists what programs and the machines of dev need, by name and version.
func Parts() []Part {
	return []Part{
		{Package: "nix-bin", Minimum: "2.8", Program: "nix-store", Why: "evaluates and builds systems"},
		{Package: "qemu-system-x86", Minimum: "1:7.2", Program: "qemu-system-x86_64", Why: "runs test machines"},
		{Package: "qemu-utils", Minimum: "1:7.2", Program: "qemu-img", Why: "makes disks of test machines"},
		{Package: "e2fsprogs", Minimum: "1.46", Program: "mke2fs", Why: "makes file systems of test machines"},
		{Package: "xz-utils", Minimum: "5.2", Program: "xz", Why: "unpacks kernel modules of test machines"},
		{Package: "busybox-static", Minimum: "1:1.30", Program: "busybox", Why: "is the package set of the stand-in nixpkgs"},
		{Package: "debian-archive-keyring", Minimum: "2021", Why: "proves that a test machine's packages are Debian's"},
		{Package: "systemd-container", Minimum: "249", Program: "systemd-nspawn", Why: "runs test containers"},
		{Package: "iproute2", Minimum: "5.10", Program: "ip", Why: "makes networks of test containers"},
		{Package: "git", Minimum: "1:2.32", Program: "git", Why: "fetches module sources; in tests it builds a second state backend"},
		{Package: "python3-venv", Minimum: "3.10", Program: "python3", Why: "is what OctoDNS, which writes zones, runs in"},
	}
}

// CheckParts lists what the checks need as well.
func CheckParts() []Part {
	return []Part{
		{Package: "openssh-client", Minimum: "1:8.4", Program: "ssh", Why: "is what our ssh is measured against"},
		{
			Package: "openssh-server", Minimum: "1:8.4", Program: "sshd", Why: "is the other side in tests, on loopback",
			Services: []string{"ssh.service", "ssh.socket"},
		},
		{Package: "sudo", Minimum: "1.9", Program: "sudo", Why: "is what a login that is not root uses, in tests"},
		{Package: "fish", Minimum: "3.1", Program: "fish", Why: "is a login shell unlike others, in tests"},
		{Package: "zsh", Minimum: "5.8", Program: "zsh", Why: "is one that people have, in tests"},
		{Package: "tmux", Minimum: "3.2", Program: "tmux", Why: "is the terminal that shells are tried in"},
		{Package: "mandoc", Minimum: "1.14", Program: "mandoc", Why: "finds what is wrong with the manual page"},
		{Package: "csh", Minimum: "20110502", Program: "csh", Why: "is another one"},
		{Package: "dash", Minimum: "0.5", Program: "dash", Why: "is another one"},
		{Package: "chromium", Minimum: "115", Program: "chromium", Why: "opens pages about runs, in tests"},
		{Package: "squashfs-tools", Minimum: "1:4.4", Program: "mksquashfs", Why: "makes images that are looked into, in tests"},
		{Package: "rsync", Minimum: "3.2", Program: "rsync", Why: "copies what a pipeline works on, in tests"},
		{Package: "gcc", Minimum: "4:10", Program: "gcc", Why: "builds a second state backend, in tests"},
		{Package: "libc6-dev", Minimum: "2.31", Why: "is another part of that"},
		{
			Package: "bind9", Minimum: "1:9.16", Program: "named", Why: "is a name server in tests, on loopback",
			Services: []string{"named.service"},
		},
		{
			Package: "knot", Minimum: "3.0", Program: "knotd", Why: "is another one",
			Services: []string{"knot.service"},
		},
		{
			Package: "pdns-server", Minimum: "4.4", Program: "pdns_server", Why: "is one with an API",
			Services: []string{"pdns.service"},
		},
		{Package: "pdns-backend-sqlite3", Minimum: "4.4", Why: "keeps the zones of that one"},
		{Package: "sqlite3", Minimum: "3.34", Program: "sqlite3", Why: "makes and changes them behind its back"},
		{
			Package: "postgresql", Minimum: "15", Program: "initdb", Why: "is the database of NetBox, in a check",
			Services: []string{"postgresql.service"},
		},
		{
			Package: "redis-server", Minimum: "5:6", Program: "redis-server", Why: "is the cache of NetBox, in a check",
			Services: []string{"redis-server.service"},
		},
	}
}
