package netboxserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

// Server is a NetBox that runs, with its database and its cache.
type Server struct {
	URL   string
	tree  *Tree
	dir   string // its own, with a short name: sockets have them
	parts []part
	said  said
}

// part is one of its programs.
type part struct {
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended
}

// Start starts a NetBox over a copy of the empty database, below the folder dir.
func (t *Tree) Start(ctx context.Context, dir string) (*Server, error) {
	database := filepath.Join(dir, "database")
	cp := child.Command{Path: "cp", Args: []string{"--archive", "--", t.database(), database}, Env: t.e.Child(nil)}
	if err := cp.Run(ctx); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, database)
	if err != nil {
		return nil, err
	}
	if err := s.serve(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, s.Output()), s.Close())
	}
	return s, nil
}

// open starts PostgreSQL over a database, and Redis.
func (t *Tree) open(ctx context.Context, database string) (*Server, error) {
	dir, err := os.MkdirTemp("", "netbox-")
	if err != nil {
		return nil, err
	}
	s := &Server{tree: t, dir: dir}
	if err := s.configure(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	postgres := t.unprivileged(filepath.Join(t.postgres, "postgres"), "-D", database, "-k", dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=50")
	postgres.Signal, postgres.Orphan = syscall.SIGINT, syscall.SIGINT // ends sessions, closes the database
	s.run(ctx, postgres)
	s.run(ctx, child.Command{Path: t.redis, Env: t.e.Child(nil), Dir: dir, Orphan: syscall.SIGTERM, Args: []string{
		"--port", "0", "--unixsocket", filepath.Join(dir, "redis"), "--save", "", "--appendonly", "no", "--dir", dir,
	}})
	err = wait.For{What: "PostgreSQL to answer", Limit: time.Minute, Try: 5 * time.Second}.Until(ctx, func(ctx context.Context) error {
		return s.client("psql", "-d", "postgres", "-c", "select 1").Run(ctx)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, s.Output()), s.Close())
	}
	return s, nil
}

// unprivileged runs a program of PostgreSQL's, which refuses to run as root: there
// it gets a user of its own in a name space of its own.
func (t *Tree) unprivileged(program string, args ...string) child.Command {
	c := child.Command{Path: program, Args: args, Env: t.e.Child(nil)}
	if os.Geteuid() == 0 {
		c.Path, c.Args = "unshare", append([]string{"--user", "--map-user=1000", "--map-group=1000", "--", program}, args...)
	}
	return c
}

// run runs a program until the server is closed, and no longer than this process.
func (s *Server) run(ctx context.Context, c child.Command) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := part{stop: stop, ended: make(chan struct{})}
	s.parts = append(s.parts, p)
	c.Stdout, c.Stderr = &s.said, &s.said
	go func() {
		defer close(p.ended)
		_ = c.Run(running) // how it ended says nothing: it was told to
	}()
}

// client runs a client of PostgreSQL's.
func (s *Server) client(name string, args ...string) child.Command {
	return child.Command{
		Path: filepath.Join(s.tree.postgres, name), Env: s.tree.e.Child(nil),
		Args: append([]string{"-h", s.dir, "-U", "netbox"}, args...),
	}
}

// python runs a program of NetBox's Python, with its settings.
func (s *Server) python(args ...string) child.Command {
	return child.Command{Path: s.tree.python(), Args: args, Dir: s.dir, Env: s.tree.e.Child(map[string]string{
		"NETBOX_ROOT": filepath.Join(s.dir, "root"), "DJANGO_SETTINGS_MODULE": "netbox.settings",
	})}
}

// settings are the folder of the sockets, thrice. NetBox tells nobody that it runs.
const settings = `ALLOWED_HOSTS = ['*']
DATABASES = {'default': {'ENGINE': 'django.db.backends.postgresql', 'NAME': 'netbox', 'USER': 'netbox', 'HOST': %[1]q, 'CONN_MAX_AGE': 300}}
REDIS = {'tasks': {'URL': 'unix://%[1]s/redis?db=0'}, 'caching': {'URL': 'unix://%[1]s/redis?db=1'}}
SECRET_KEY = 'of-this-check-alone' * 4
API_TOKEN_PEPPERS = {1: 'of-this-check-alone' * 4}
CENSUS_REPORTING_ENABLED = False
ISOLATED_DEPLOYMENT = True
`

func (s *Server) configure() error {
	conf := filepath.Join(s.dir, "root", "conf")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(conf, "__init__.py"), nil, 0o600),
		os.WriteFile(filepath.Join(conf, "configuration.py"), fmt.Appendf(nil, settings, s.dir), 0o600),
	)
}

var listening = regexp.MustCompile(`Listening at: (http://127\.0\.0\.1:\d+)`)

// serve starts NetBox itself and waits until it answers. Two processes serve, so
// that not every request meets the one that has just seen the last.
func (s *Server) serve(ctx context.Context) error {
	web := s.python("-m", "gunicorn", "--bind", "127.0.0.1:0", "--workers", "2", "--threads", "2", "--preload",
		"--timeout", "120", "--graceful-timeout", "3", "--worker-tmp-dir", s.dir, "netbox.wsgi")
	web.Signal, web.Orphan = syscall.SIGINT, syscall.SIGINT // does not wait for requests
	s.run(ctx, web)
	ended := s.parts[len(s.parts)-1].ended
	return wait.For{What: "NetBox to answer", Limit: 3 * time.Minute, Try: 10 * time.Second}.Until(ctx, func(ctx context.Context) error {
		select {
		case <-ended:
			return wait.Stop(errors.New("start NetBox: it ended"))
		default:
		}
		told := listening.FindStringSubmatch(s.Output())
		if told == nil {
			return errors.New("it does not listen")
		}
		s.URL = told[1]
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/", nil)
		if err != nil {
			return wait.Stop(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusForbidden { // without a token
			return fmt.Errorf("it answers %s", response.Status)
		}
		return nil
	})
}

// Output is what its programs said.
func (s *Server) Output() string { return s.said.String() }

// Close ends everything, what was started last first.
func (s *Server) Close() error {
	for i := range s.parts {
		p := s.parts[len(s.parts)-1-i]
		p.stop()
		<-p.ended
	}
	return os.RemoveAll(s.dir)
}

// said keeps what several programs say.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
