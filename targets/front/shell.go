package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/shell"
	"fediversity.eu/slipway/targets/task"
)

// shellKeys say which shell a person uses.
type shellKeys struct {
	Shell env.Path `env:"SHELL" desc:"shell to open: bash, fish or zsh"`
}

// coordinates is the word by which a shell shows how its variables stand.
const coordinates = "coordinates"

// shell opens the shell of whoever asks, with a program's verbs on the PATH.
func (f Front) shell(words []string) report.Code {
	if len(words) != 1 {
		return usage(errors.New("shell: of which deployment? name one program, as operator-ssh-web"))
	}
	ctx, stop := untilHangup(context.Background())
	defer stop()
	err := f.openShell(ctx, words[0])
	if stopped, ok := errors.AsType[*report.Interruption](context.Cause(ctx)); ok {
		return stopped.Code()
	}
	if err != nil {
		explain(plainly(), err)
	}
	return report.CodeOf(err)
}

// untilHangup gives a context that ends with the terminal, and with SIGTERM. Keys
// that interrupt are the shell's.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-received:
			cancel(&report.Interruption{Signal: s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		signal.Stop(received)
	}
}

func (f Front) openShell(ctx context.Context, name string) error {
	registry, err := f.Registry()
	if err != nil {
		return err
	}
	if err := registry.Resolve(program.Call{Name: name}); err != nil {
		return err
	}
	p, _ := registry.Find(name)
	siblings := registry.Siblings(p)
	if len(siblings) == 0 {
		return &report.Fault{Code: report.Usage, What: "open a shell", Why: fmt.Errorf("%s has no verbs", p.Name), Hint: "name a deployment, as operator-ssh-web, or an effect, as operator-dns"}
	}
	environment := env.Process()
	s, err := theirs(ctx, environment)
	if err != nil {
		return err
	}
	binary, err := f.binary(ctx)
	if err != nil {
		return err
	}
	s.Name = strings.TrimSuffix(p.Name, "-"+p.Verb)
	s.Words = map[string]string{coordinates: shell.Line(binary, "help", p.Name)}
	for _, sibling := range siblings {
		s.Words[sibling.Verb] = shell.Line(binary, sibling.Name)
	}
	if byTofu(siblings) {
		s.Words["tofu"] = shell.Line(binary, "tofu", p.Name)
	}
	if s.Files, err = registry.Configuration(p); err != nil {
		return report.Fail("prepare the shell", err, "")
	}
	keys, err := standingOf(ctx, environment, registry, siblings)
	if err != nil {
		return err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return &report.Fault{Code: report.Usage, What: "open a shell", Why: errors.New("standard input is no terminal"), Hint: "run the programs by their names instead"}
	}
	return s.Open(ctx, func(dir string) { greet(os.Stderr, registry, p, s, keys, dir) })
}

// theirs is the shell that SHELL names, with the environment as it is: it is a
// person's own.
func theirs(ctx context.Context, environment env.Environment) (shell.Shell, error) {
	var k shellKeys
	if err := environment.Load(ctx, env.For{}, &k); err != nil {
		return shell.Shell{}, &report.Fault{Code: report.Usage, What: "open a shell", Why: err}
	}
	s := shell.Shell{Path: string(k.Shell), Env: env.Inherited()}
	if why := unusable(s); why != nil {
		return s, &report.Fault{Code: report.Usage, What: "open a shell", Why: why, Hint: "set SHELL to the path of one of " + strings.Join(shell.Kinds(), ", ")}
	}
	return s, nil
}

// unusable says why a shell can't be opened.
func unusable(s shell.Shell) error {
	if s.Path == "" {
		return errors.New("SHELL is not set")
	}
	if s.Unknown() {
		return fmt.Errorf("SHELL is %s, which Slipway has nothing for", s.Path)
	}
	if _, err := os.Stat(s.Path); err != nil {
		return fmt.Errorf("SHELL: %w", err)
	}
	return nil
}

// standingOf tells how the keys of several programs stand, but for those that are
// arguments.
func standingOf(ctx context.Context, environment env.Environment, r *program.Registry, programs []program.Program) ([]env.Shown, error) {
	all := map[string]env.Shown{}
	for _, p := range programs {
		keys, err := r.Show(ctx, environment, p)
		if err != nil {
			return nil, err
		}
		for _, shown := range keys {
			if slices.ContainsFunc(r.Arguments(p), func(a task.Argument) bool { return a.Key == shown.Key.Name }) {
				continue
			}
			if other, ok := all[shown.Variable]; !ok || other.Problem == nil {
				all[shown.Variable] = shown
			}
		}
	}
	list := make([]env.Shown, 0, len(all))
	for _, variable := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[variable])
	}
	return list, nil
}

// greet says where one is: the verbs, what is set and what is missing.
func greet(to io.Writer, r *program.Registry, p program.Program, s shell.Shell, keys []env.Shown, dir string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s\n", s.Name, filepath.Base(s.Path))
	fmt.Fprintf(&b, "verbs: %s\n", strings.Join(verbsOf(r, p), ", "))
	for _, shown := range keys {
		if text := standing(shown, shown.Variable); text != "" {
			fmt.Fprintf(&b, "  %-28s %s\n", shown.Variable, strings.TrimPrefix(text, "now "))
		}
	}
	if _, ok := s.Words["tofu"]; ok {
		fmt.Fprintf(&b, "tofu does by these verbs: %s\n", strings.Join(tofuReads(), ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(&b, "OpenTofu is given %s\n", filepath.Join(dir, name))
	}
	fmt.Fprintf(&b, "%s shows every variable; exit leaves\n", coordinates)
	_, _ = io.WriteString(to, b.String())
}
