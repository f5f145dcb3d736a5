package debian

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"fediversity.eu/slipway/internal/child"
)

// kernelPackage depends on the newest kernel that is built for virtual
// machines: fewer drivers, quicker to boot.
const kernelPackage = "linux-image-cloud-amd64"

// fetch downloads the recipe's packages with all they depend on, and the kernel
// of a bootable suite without, into dir. It returns the packages' files.
func (s Suite) fetch(ctx context.Context, archive Archive, dir string) (debs []string, kernel string, err error) {
	names, err := list("packages")
	if err != nil {
		return nil, "", err
	}
	apt, err := newApt(ctx, s, archive, dir)
	if err != nil {
		return nil, "", err
	}
	if debs, err = apt.download(ctx, names); err != nil || !s.Bootable() {
		return debs, "", err
	}
	depends, err := apt.run(ctx, "apt-cache", "depends", kernelPackage)
	if err != nil {
		return nil, "", err
	}
	newest, err := dependency(string(depends), "linux-image-")
	if err != nil {
		return nil, "", err
	}
	if _, err := apt.run(ctx, "apt-get", "-q", "download", newest); err != nil {
		return nil, "", err
	}
	kernels, err := filepath.Glob(filepath.Join(dir, newest+"_*.deb"))
	if err != nil || len(kernels) != 1 {
		return nil, "", fmt.Errorf("download %s: %d files", newest, len(kernels))
	}
	return debs, kernels[0], nil
}

// Tree fills the empty folder dir with packages and all they depend on, unpacked and
// not configured.
func (s Suite) Tree(ctx context.Context, names []string, dir string) error {
	archive, err := HostArchive(ctx, s)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".apt-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	apt, err := newApt(ctx, s, archive, work)
	if err != nil {
		return err
	}
	debs, err := apt.download(ctx, names)
	if err != nil {
		return err
	}
	return unpack(ctx, debs, dir)
}

// apt is a configuration of apt that knows no installed package and can only
// download.
type apt struct{ dir, config string }

func newApt(ctx context.Context, suite Suite, archive Archive, dir string) (apt, error) {
	a := apt{dir: dir, config: filepath.Join(dir, "apt.conf")}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return apt{}, err
		}
	}
	// How the host reaches an archive (a proxy, a certificate) holds for us too.
	acquire, err := child.Command{Path: "apt-config", Args: []string{"dump", "Acquire"}, Env: environment()}.Output(ctx)
	if err != nil {
		return apt{}, err
	}
	files := map[string]string{
		"status":       "",
		"sources.list": fmt.Sprintf("deb [signed-by=%s] %s %s main\n", archive.Keyring, archive.URI, suite),
		"apt.conf":     aptConfig(dir, string(acquire)),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return apt{}, err
		}
	}
	return a, nil
}

// aptConfig is the text of a private configuration in dir, with the host's own
// Acquire settings in front.
func aptConfig(dir, acquire string) string {
	var text strings.Builder
	for line := range strings.Lines(acquire) {
		if strings.HasPrefix(line, "Acquire::") {
			text.WriteString(line)
		}
	}
	for _, setting := range [][2]string{
		{"Dir::State", dir},
		{"Dir::State::Lists", filepath.Join(dir, "lists")},
		{"Dir::State::status", filepath.Join(dir, "status")},
		{"Dir::Cache", dir},
		{"Dir::Cache::archives", filepath.Join(dir, "archives")},
		{"Dir::Cache::pkgcache", ""},
		{"Dir::Cache::srcpkgcache", ""},
		{"Dir::Etc::sourcelist", filepath.Join(dir, "sources.list")},
		{"Dir::Etc::sourceparts", "/dev/null"},
		{"Dir::Etc::preferences", "/dev/null"},
		{"Dir::Etc::preferencesparts", "/dev/null"},
		{"Dir::Etc::Parts", "/dev/null"},
		{"Dir::Etc::main", "/dev/null"},
		{"APT::Architecture", "amd64"},
		{"APT::Architectures", "amd64"},
		{"APT::Install-Recommends", "false"},
		{"APT::Sandbox::User", ""},
		{"Acquire::Languages", "none"},
		{"Acquire::Retries", "3"},
	} {
		fmt.Fprintf(&text, "%s %q;\n", setting[0], setting[1])
	}
	return text.String()
}

// download fetches packages with all they depend on, and returns their files.
func (a apt) download(ctx context.Context, names []string) ([]string, error) {
	if _, err := a.run(ctx, "apt-get", "-q", "update"); err != nil {
		return nil, err
	}
	install := append([]string{"-q", "-y", "-d", "--no-install-recommends", "install"}, names...)
	if _, err := a.run(ctx, "apt-get", install...); err != nil {
		return nil, err
	}
	debs, err := filepath.Glob(filepath.Join(a.dir, "archives", "*.deb"))
	if err != nil || len(debs) == 0 {
		return nil, fmt.Errorf("download packages: nothing in %s", a.dir)
	}
	sort.Strings(debs)
	return debs, nil
}

// run runs one of apt's programs. Their own APT_CONFIG comes last, after the
// host's apt.conf.d, so what it sets holds.
func (a apt) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	return child.Command{
		Path: program, Args: args, Dir: a.dir,
		Env: environment("APT_CONFIG="+a.config, "DEBIAN_FRONTEND=noninteractive", "TMPDIR="+a.dir),
	}.Output(ctx)
}

// dependency takes the first package with a prefix from apt-cache's list of
// dependencies.
func dependency(depends, prefix string) (string, error) {
	for line := range strings.Lines(depends) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "+prefix); ok {
			return prefix + name, nil
		}
	}
	return "", fmt.Errorf("find kernel: no dependency on %s… in %q", prefix, depends)
}

// versions lists what package files hold, from their names: name_version_arch.
func versions(debs []string) string {
	var lines []string
	for _, deb := range debs {
		parts := strings.Split(filepath.Base(deb), "_")
		if len(parts) == 3 {
			lines = append(lines, parts[0]+" "+strings.ReplaceAll(parts[1], "%3a", ":")+"\n")
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}
