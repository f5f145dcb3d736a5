//go:build checks

package bench

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/task"
)

const (
	hosts    = 1000
	commands = 5                     // that each host is asked to run
	answers  = 20 * time.Millisecond // after which a host answers
)

// BenchmarkHosts runs a program over a thousand ssh servers of this process, or
// a tenth of them where it goes one by one. It reports what there was at most at once: bytes of the heap, of both sides;
// files, beyond the servers' listening ones; goroutines, of both sides.
func BenchmarkHosts(b *testing.B) {
	h := serve(b)
	var machines []groups.Machine
	for i := range hosts {
		machines = append(machines, groups.Machine{
			Name: fmt.Sprintf("m-%d", i), Description: "one of many", Modules: []string{"m.nix"}, Placement: groups.External{},
		})
	}
	registry, err := program.New([]groups.Group{
		{Name: "many", Description: "many machines", Methods: []string{"ask"}, Machines: machines},
		{Name: "some", Description: "a tenth of them", Methods: []string{"ask"}, Machines: machines[:hosts/10]},
	}, []methods.Method{h}, func(methods.Deployment) task.Task { return nil })
	assert.NilError(b, err)
	for _, c := range []struct {
		parallelism string
		program     string
		machines    int
	}{{"1", "some-all", hosts / 10}, {"10", "many-all", hosts}, {"100", "many-all", hosts}} {
		b.Run(c.parallelism, func(b *testing.B) {
			quiet := measure()
			peak := watch(b)
			for b.Loop() {
				var said strings.Builder
				session, err := registry.NewSession(b.Context(), env.Map(map[string]string{"PARALLELISM": c.parallelism}),
					program.Streams{Out: io.Discard, Err: &said})
				assert.NilError(b, err)
				err = session.Run(b.Context(), program.Call{Name: c.program})
				session.Close()
				assert.NilError(b, err, "%s", said.String())
			}
			most := peak()
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*c.machines), "ms/host")
			b.ReportMetric(float64(most.heap)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(most.files-quiet.files), "files")
			b.ReportMetric(float64(most.goroutines-quiet.goroutines), "goroutines")
		})
	}
}

// load is what a process holds at a moment.
type load struct {
	heap       uint64
	files      int
	goroutines int
}

func measure() load {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(samples)
	files, _ := os.ReadDir("/proc/self/fd")
	return load{heap: samples[0].Value.Uint64(), files: len(files), goroutines: int(samples[1].Value.Uint64())}
}

// watch measures again and again; what it returns ends that, and gives the most
// that there was of each.
func watch(b *testing.B) func() load {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	most := make(chan load)
	go func() {
		var m load
		clock := time.NewTicker(10 * time.Millisecond)
		defer clock.Stop()
		for {
			now := measure()
			m = load{max(m.heap, now.heap), max(m.files, now.files), max(m.goroutines, now.goroutines)}
			select {
			case <-clock.C:
			case <-ctx.Done():
				most <- m
				return
			}
		}
	}()
	return func() load {
		stop()
		return <-most
	}
}

// asked is a method that asks its machine a few things over one connection.
type asked struct {
	user    xssh.Signer
	hostKey string
	ports   map[string]int
}

func (*asked) Name() string        { return "ask" }
func (*asked) Description() string { return "asks machines" }
func (*asked) Verbs(groups.Placement) []task.Verb {
	return []task.Verb{{Name: task.Apply, Description: "asks"}}
}

func (a *asked) Task(d methods.Deployment, _ string) task.Task {
	return &asking{a, a.ports[d.Machine.Name]}
}

type asking struct {
	*asked
	port int
}

func (*asking) Coordinates() []any { return nil }

func (a *asking) Run(ctx context.Context, _ *task.Run) error {
	conn, err := remote.Dial(ctx, remote.Target{
		Host: "127.0.0.1", Port: a.port, User: "root", HostKeys: []string{a.hostKey}, Keys: []xssh.Signer{a.user},
	})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for range commands {
		if _, err := conn.Output(ctx, "true"); err != nil {
			return err
		}
	}
	return nil
}

func signer(b *testing.B) xssh.Signer {
	b.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	assert.NilError(b, err)
	s, err := xssh.NewSignerFromKey(key)
	assert.NilError(b, err)
	return s
}

// serve starts the servers, each at a port of its own.
func serve(b *testing.B) *asked {
	b.Helper()
	host := signer(b)
	a := &asked{
		user: signer(b), ports: map[string]int{},
		hostKey: strings.TrimSpace(string(xssh.MarshalAuthorizedKey(host.PublicKey()))),
	}
	config := &xssh.ServerConfig{PublicKeyCallback: func(xssh.ConnMetadata, xssh.PublicKey) (*xssh.Permissions, error) {
		return &xssh.Permissions{}, nil
	}}
	config.AddHostKey(host)
	var running sync.WaitGroup
	b.Cleanup(running.Wait)
	for i := range hosts {
		var listen net.ListenConfig
		l, err := listen.Listen(b.Context(), "tcp", "127.0.0.1:0")
		assert.NilError(b, err)
		b.Cleanup(func() { _ = l.Close() })
		a.ports[fmt.Sprintf("m-%d", i)] = l.Addr().(*net.TCPAddr).Port
		running.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				running.Go(func() { answer(conn, config) })
			}
		})
	}
	return a
}

// answer serves one connection until it is closed.
func answer(conn net.Conn, config *xssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := xssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go xssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				_ = r.Reply(true, nil)
				if r.Type == "exec" {
					go obey(channel, string(r.Payload))
				}
			}
		}()
	}
}

// token is the word by which a command line tells its output from a shell's.
var token = regexp.MustCompile(`slipway-[a-z0-9]+`)

// obey does as if it ran a command: it says the token and ends well.
func obey(channel xssh.Channel, line string) {
	go func() { _, _ = io.Copy(io.Discard, channel) }()
	_, _ = fmt.Fprintf(channel, "%s 1\n", token.FindString(line))
	_, _ = fmt.Fprintf(channel.Stderr(), "%s 1\n", token.FindString(line))
	time.Sleep(answers)
	_, _ = channel.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, 0))
	_ = channel.Close()
}
