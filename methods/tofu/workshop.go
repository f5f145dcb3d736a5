package tofu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/tofu/broker"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/supervisor"
	"fediversity.eu/slipway/targets/report"
)

// workshop is a folder in which OpenTofu works for one run, with everything that
// it may see.
type workshop struct {
	dir     string
	place   place
	tf      *tfexec.Terraform
	control *supervisor.Control
	env     map[string]string
	log     *report.Log
	limit   time.Duration
	stop    func() bool
	reach   func(context.Context) error // nil asks nobody

	prepared string // where OpenTofu's own folder may lie ready
	sockets  string // where providers listen, where that is no folder of the run
	closed   chan struct{}
}

// place names the files of a workshop that are a run's and not the folder's.
type place struct{ lock, process, events string }

// backendFile makes OpenTofu keep its state over HTTP; the rest comes from the
// environment, so that nothing is written down.
const backendFile = `{"terraform":{"backend":{"http":{}}}}`

// open furnishes a workshop; b is nil where no state is needed.
func (e *Engine) open(ctx context.Context, d Deployment, dir string, p place, b *broker.Broker) (*workshop, error) {
	w := &workshop{dir: dir, place: p, log: e.Log, limit: e.StopLimit, reach: d.Reach, closed: make(chan struct{}), prepared: e.prepared(d, b != nil)}
	if w.limit == 0 {
		w.limit = stopLimit
	}
	config := filepath.Join(dir, "configuration")
	for _, folder := range []string{config, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, fmt.Errorf("make the work directory: %w", err)
		}
	}
	files := maps.Clone(d.Files)
	if files == nil {
		files = map[string][]byte{}
	}
	if b != nil {
		files["slipway_backend.tf.json"] = []byte(backendFile)
	}
	for name, text := range files {
		path := filepath.Join(config, name)
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("write the configuration: %s is not in it", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("write the configuration: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("write the configuration: %w", err)
		}
	}
	rc := filepath.Join(dir, "tofurc")
	if err := os.WriteFile(rc, d.settings(), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	w.env = e.childEnvironment(d, dir, rc)
	if !rundir.Fits(filepath.Join(dir, "tmp")) {
		var err error
		if w.sockets, err = rundir.Sockets(); err != nil {
			return nil, err
		}
		if err := rundir.Note(dir, w.sockets); err != nil {
			return nil, fmt.Errorf("note the folder for sockets: %w", err)
		}
		w.env["PLUGIN_UNIX_SOCKET_DIR"] = w.sockets
	}
	for name, served := range d.Providers {
		if served.Addr.Network != "unix" {
			continue
		}
		if err := rundir.Note(dir, rundir.Owner(served.Addr.String)); err != nil {
			return nil, fmt.Errorf("note the socket of the provider %s: %w", name, err)
		}
	}
	if b != nil {
		maps.Copy(w.env, b.Environment())
	}
	forbidden, err := d.forbidden()
	if err != nil {
		return nil, err
	}
	w.control, err = supervisor.Listen(dir, supervisor.Setting{
		Tofu: e.Tofu.Path, Version: e.Tofu.Version, Env: forbidden,
		Lock: p.lock, Process: p.process, Events: p.events, Dying: dyingLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the supervisor: %w", err)
	}
	w.tf, err = tfexec.NewTerraform(config, w.control.Exec())
	if err == nil {
		err = w.tf.SetEnv(w.env)
	}
	if err == nil {
		// The supervisor is told otherwise; this only kills it, too late and wrongly.
		err = w.tf.SetWaitDelay(24 * time.Hour)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare OpenTofu: %w", err)
	}
	// One request to stop, then force.
	w.stop = context.AfterFunc(ctx, func() {
		if w.control.Stop() {
			w.log.Infof("stopping OpenTofu: it ends what it is at and writes its state")
		}
		force := time.NewTimer(w.limit)
		defer force.Stop()
		select {
		case <-w.closed:
		case <-force.C:
			w.log.Warnf("OpenTofu did not stop within %s", w.limit)
			w.control.Force()
		}
	})
	return w, nil
}

// settings are OpenTofu's own.
func (d Deployment) settings() []byte {
	text := "disable_checkpoint = true\n"
	if d.Mirror != "" {
		text += fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", d.Mirror)
	}
	return []byte(text)
}

// Close ends the line to the supervisor.
func (w *workshop) Close() error {
	w.stop()
	close(w.closed)
	err := w.control.Close()
	if w.sockets != "" {
		err = errors.Join(err, os.RemoveAll(w.sockets))
	}
	return err
}

// collecting lets OpenTofu's heap grow to thrice of what is in use, instead of twice,
// before garbage is collected (Go's runtime/debug, SetGCPercent). Of a thousand
// objects that is some 15 MB more, and a fifth less of the processor's time.
const collecting = "200"

// childEnvironment is what OpenTofu gets: short, and our own.
func (e *Engine) childEnvironment(d Deployment, dir, rc string) map[string]string {
	own := map[string]string{
		// Seen from the configuration, where OpenTofu and its providers are at work: the
		// sockets between them lie there, and their addresses may hold 107 bytes (unix(7)).
		"HOME": dir, "TMPDIR": filepath.Join("..", "tmp"), "TF_CLI_CONFIG_FILE": rc, "CHECKPOINT_DISABLE": "1",
		"TF_DATA_DIR": filepath.Join(dir, "data"),
		"GOGC":        collecting,
	}
	maps.Copy(own, d.Env)
	if e.Keys.Encryption.IsSet() {
		own["TF_ENCRYPTION"] = e.Keys.Encryption.Reveal()
	}
	all := map[string]string{}
	for _, entry := range e.Environment.Child(own) {
		name, value, _ := strings.Cut(entry, "=")
		all[name] = value
	}
	delete(all, "XDG_CACHE_HOME") // the caller's; ours is below HOME
	return all
}

// forbidden is what terraform-exec refuses to set, so that the supervisor does.
func (d Deployment) forbidden() (map[string]string, error) {
	all := map[string]string{}
	for name, value := range d.Vars {
		all["TF_VAR_"+name] = value.Reveal()
	}
	if d.Keeps {
		all["TF_CLI_ARGS_apply"] = "-suppress-forget-errors"
	}
	if len(d.Providers) > 0 {
		text, err := json.Marshal(d.Providers)
		if err != nil {
			return nil, err
		}
		all[supervisor.Reattach] = string(text)
	}
	return all, nil
}

// killed is the exit code of an OpenTofu that a signal ended.
const killed = 128 + int(syscall.SIGKILL)

// run lets terraform-exec run one command. Its context is not ours, since
// terraform-exec's own way of stopping is broken in several ways; the supervisor
// is told instead. The error is what the supervisor saw, in OpenTofu's words.
func (w *workshop) run(ctx context.Context, what string, command func(context.Context) error, said func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.control.Begin()
	w.tf.SetStdout(nil) // terraform-exec's JSON methods leave theirs behind
	err := command(context.WithoutCancel(ctx))
	last := w.control.Last()
	if !last.ByItself {
		w.bury(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if last.Unwritten != "" && last.Code != 0 {
		return report.Fail(what, fmt.Errorf("write down what OpenTofu makes: %s", last.Unwritten),
			"OpenTofu was stopped before it made more; what it made is in the state. Make room in the run directory, or name another by STATE_DIR")
	}
	if err == nil && last.ByItself {
		return nil
	}
	if last.Code == killed {
		return report.Fail(what, errors.New("OpenTofu was killed"), "the next run compares what it made with the state")
	}
	if said != nil {
		if words := said(); words != nil {
			return fmt.Errorf("%s: %w", what, words)
		}
	}
	if err == nil {
		err = fmt.Errorf("OpenTofu ended with %d", last.Code)
	}
	return fmt.Errorf("%s: %w", what, shortened(err))
}

// bury waits for a tofu whose supervisor was killed: the kernel asked it to stop.
func (w *workshop) bury(ctx context.Context) {
	err := wait.For{What: "an OpenTofu without a supervisor", Limit: w.limit}.Until(context.WithoutCancel(ctx), func(context.Context) error {
		return rundir.Gone(w.place.process)
	})
	if err != nil {
		w.log.Warnf("%v", err)
	}
}

// colours are what OpenTofu writes to a terminal, and with some commands always.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// shortened leaves the start of what OpenTofu wrote for people, in one line.
func shortened(err error) error {
	var kept []string // paragraphs
	lines := 0
	whole := true
	for line := range strings.Lines(colours.ReplaceAllString(err.Error(), "")) {
		line = strings.TrimSpace(strings.Trim(line, "╷│╵ \n"))
		switch {
		case line == "":
			whole = true
			continue
		case whole || strings.HasPrefix(line, "Error: "):
			kept = append(kept, line)
		default:
			kept[len(kept)-1] += " " + line
		}
		whole = false
		if lines++; lines == mostLines {
			break
		}
	}
	return errors.New(strings.Join(kept, ": "))
}

// mostLines is how many lines of an error are worth reading.
const mostLines = 8

// push has OpenTofu write a state, which is in clear until then and so in no file.
func (w *workshop) push(ctx context.Context, raw []byte) error {
	_, err := w.fed(ctx, bytes.NewReader(raw), "state", "push", "-lock=false", "-")
	return err
}

// output runs a command that terraform-exec lacks.
func (w *workshop) output(ctx context.Context, args ...string) ([]byte, error) {
	return w.fed(ctx, nil, args...)
}

// fed is output of a command that reads.
func (w *workshop) fed(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var out []byte
	err := w.run(ctx, strings.Join(args[:min(2, len(args))], " "), func(ctx context.Context) error {
		var entries []string
		for name, value := range w.env {
			entries = append(entries, name+"="+value)
		}
		var err error
		out, err = child.Command{Path: w.control.Exec(), Args: args, Dir: w.tf.WorkingDir(), Env: entries, Stdin: in}.Output(ctx)
		if failed, ok := errors.AsType[*child.Error](err); ok && failed.Stderr != "" && !failed.Killed() {
			return errors.New(failed.Stderr)
		}
		return err
	}, nil)
	return out, err
}

// planFile is where plans lie, in the folder of the run.
func (w *workshop) planFile() string { return filepath.Join(w.dir, "plan") }

// plan makes a saved plan: it remembers lineage and serial, and nothing else that
// OpenTofu has does.
func (w *workshop) plan(ctx context.Context, opts ...tfexec.PlanOption) (Plan, error) {
	s := &stream{log: w.log.In("plan")}
	var changed bool
	err := w.run(ctx, "plan", func(ctx context.Context) error {
		var err error
		changed, err = w.tf.PlanJSON(ctx, s, append(opts, tfexec.Out(w.planFile()))...)
		return err
	}, func() error { _, err := s.result(); return err })
	p, _ := s.result()
	p.Changed = changed
	for _, d := range w.drifted(ctx, s.drifts, err) {
		s.log.Infof("%s", d.message)
	}
	return p, w.reached(ctx, err)
}

// apply does what the saved plan says.
func (w *workshop) apply(ctx context.Context) error {
	s := &stream{log: w.log.In("apply")}
	return w.reached(ctx, w.run(ctx, "apply", func(ctx context.Context) error {
		return w.tf.ApplyJSON(ctx, s, tfexec.DirOrPlan(w.planFile()))
	}, func() error { _, err := s.result(); return err }))
}

// reached says of an error of OpenTofu that a server was not there, where that is so.
func (w *workshop) reached(ctx context.Context, err error) error {
	if err == nil || w.reach == nil || ctx.Err() != nil {
		return err
	}
	if why := w.reach(ctx); why != nil {
		return &report.Fault{
			Code: report.Unknown, What: "reach what the deployment needs", Why: errors.Join(why, err),
			Hint: "the next run goes on from here, once it answers",
		}
	}
	return err
}
