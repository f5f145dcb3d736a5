// Package gitea runs a Gitea: its registry of OpenTofu states is an HTTP state
// backend that we did not write, to hold our tests of the protocol against.
package gitea

import (
	"bytes"
	"context"
	_ "embed" // the module that builds the pinned version
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
)

// Version is the Gitea that is built; 1.26 was the first with states.
const Version = "1.26.0"

const (
	module     = "code.gitea.io/gitea"
	startLimit = 5 * time.Minute
)

//go:embed mod.txt
var modText []byte

//go:embed sum.txt
var sumText []byte

// Program is a Gitea that was built.
type Program struct {
	Path   string
	static string // the module's folder, which holds what Gitea reads at run time
}

// Build builds Gitea once, below the folder cache. That takes minutes.
func Build(ctx context.Context, e env.Environment, tools toolchain.Keys, cache string) (*Program, error) {
	dir := filepath.Join(cache, "gitea-"+Version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	source, err := os.MkdirTemp(dir, ".module-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(source) }()
	for name, text := range map[string][]byte{"go.mod": modText, "go.sum": sumText} {
		if err := os.WriteFile(filepath.Join(source, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	run := func(args ...string) ([]byte, error) {
		return tools.Go(e, source, map[string]string{"GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "1"}, args...).Output(ctx)
	}
	p := &Program{Path: filepath.Join(dir, "gitea")}
	if _, err := os.Stat(p.Path); err != nil {
		made := filepath.Join(source, "gitea")
		if _, err := run("build", "-tags", "sqlite,sqlite_unlock_notify", "-ldflags=-s -w", "-o", made, module); err != nil {
			return nil, fmt.Errorf("build Gitea %s: %w", Version, err)
		}
		if err := os.Rename(made, p.Path); err != nil {
			return nil, err
		}
	}
	// The build put the module there; a cache that was emptied since is filled again.
	if _, err := run("mod", "download", module); err != nil {
		return nil, fmt.Errorf("download Gitea %s: %w", Version, err)
	}
	static, err := run("list", "-m", "-f", "{{.Dir}}", module)
	p.static = strings.TrimSpace(string(static))
	return p, err
}

// Server is a Gitea that runs.
type Server struct {
	User, Password string
	base           string
	stop           context.CancelFunc
	ended          chan struct{} // closed when it has ended
	output         *bytes.Buffer
}

// Start starts a Gitea with all that it has in a folder, on a port of the loopback.
func (p *Program) Start(ctx context.Context, dir string, port int) (*Server, error) {
	who, err := user.Current()
	if err != nil {
		return nil, err
	}
	s := &Server{
		User: "deployer", ended: make(chan struct{}), output: &bytes.Buffer{},
		base: fmt.Sprintf("http://127.0.0.1:%d", port),
	}
	config := filepath.Join(dir, "app.ini")
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, who.Username, dir, p.static, port, dir, dir), 0o600); err != nil {
		return nil, err
	}
	command := func(args ...string) child.Command {
		return child.Command{
			Path: p.Path, Args: append(args, "--config", config), Dir: dir,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "USER=" + who.Username},
		}
	}
	if _, err := command("migrate").Output(ctx); err != nil {
		return nil, fmt.Errorf("make Gitea's database: %w", err)
	}
	if err := s.register(ctx, command); err != nil {
		return nil, fmt.Errorf("make a user of Gitea: %w", err)
	}
	running, stop := context.WithCancel(ctx)
	s.stop = stop
	web := command("web")
	web.Stdout, web.Stderr = s.output, s.output
	go func() {
		defer close(s.ended)
		_ = web.Run(running) // what matters is in its output
	}()
	if err := s.ready(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("%w\n%s", err, s.output)
	}
	return s, nil
}

// register makes the user, with a password of Gitea's own.
func (s *Server) register(ctx context.Context, command func(...string) child.Command) error {
	out, err := command("admin", "user", "create", "--username", s.User, "--random-password",
		"--email", s.User+"@example.org", "--must-change-password=false").Output(ctx)
	if err != nil {
		return err
	}
	said := passwordForm.FindSubmatch(out)
	if said == nil {
		return errors.New("it told no password")
	}
	s.Password = string(said[1])
	return nil
}

var passwordForm = regexp.MustCompile(`generated random password is '([^']+)'`)

// ready waits until Gitea answers.
func (s *Server) ready(ctx context.Context) error {
	return wait.For{What: "Gitea to answer", Limit: startLimit, Try: 5 * time.Second}.Until(ctx, func(ctx context.Context) error {
		select {
		case <-s.ended:
			return wait.Stop(errors.New("start Gitea: it ended"))
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/api/healthz", nil)
		if err != nil {
			return wait.Stop(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", response.Status)
		}
		return nil
	})
}

// State is the address of a state. Its lock is at /lock below it, with POST and
// DELETE.
func (s *Server) State(name string) string {
	return s.base + "/api/packages/" + s.User + "/terraform/state/" + name
}

// Close stops it.
func (s *Server) Close() {
	s.stop()
	<-s.ended
}

// settings are the user, the work folder, the module's folder, the port, and the
// folder twice more.
const settings = `APP_NAME = states
RUN_USER = %s
RUN_MODE = prod
WORK_PATH = %s
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true

[server]
STATIC_ROOT_PATH = %s
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %d
DISABLE_SSH = true
OFFLINE_MODE = true

[database]
DB_TYPE = sqlite3
PATH = %s/gitea.db

[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
SECRET_KEY = of-this-check-alone

[service]
REQUIRE_SIGNIN_VIEW = true

[packages]
ENABLED = true

[cron.update_checker]
ENABLED = false

[log]
MODE = console
LEVEL = Warn
ROOT_PATH = %s/log
`
