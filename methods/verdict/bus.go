package verdict

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// The interfaces of systemd on the bus (org.freedesktop.systemd1(5)).
const (
	systemd     = "org.freedesktop.systemd1"
	managerPath = "/org/freedesktop/systemd1"
	unitPath    = "/org/freedesktop/systemd1/unit/"
	properties  = "org.freedesktop.DBus.Properties"
)

// busLimit bounds how long the bus may take to answer when it is opened.
const busLimit = 10 * time.Second

// bus listens to systemd. What it heard stays when it is lost, but then is not
// all that happened.
type bus struct {
	conn  *dbus.Conn
	clock func() time.Duration // of the machine, since its boot
	end   context.CancelFunc
	ended chan struct{} // closed when the bridge is gone
	fresh chan string   // units to refer to, so that they stay loaded
	wake  chan struct{} // has one element when something has happened

	mu     sync.Mutex
	events []event
	counts map[string]int           // restarts of units, as last heard
	births map[string]time.Duration // of their main processes, likewise
	deaths map[string]time.Duration
	reads  int // how often systemd has read the texts of units
}

// bridgeScript connects to the machine's bus. It is part of systemd.
const bridgeScript = `exec systemd-stdio-bridge`

// listen opens the bus and subscribes to what systemd says. The context bounds
// all of the listening.
func listen(ctx context.Context, host Host, clock func() time.Duration) (*bus, error) {
	ctx, end := context.WithCancel(ctx)
	b := &bus{clock: clock, end: end, ended: make(chan struct{}), fresh: make(chan string, 4096), wake: make(chan struct{}, 1)}
	b.begin(Sample{})
	theirIn, ourOut := io.Pipe()
	ourIn, theirOut := io.Pipe()
	var gone error
	go func() {
		gone = host.Attach(ctx, bridgeScript, theirIn, theirOut)
		close(b.ended)
		_ = theirIn.CloseWithError(io.ErrClosedPipe)
		_ = theirOut.CloseWithError(io.EOF)
	}()
	opened := make(chan error, 1)
	go func() { opened <- b.open(ctx, pipes{ourIn, ourOut}) }()
	timer := time.NewTimer(busLimit)
	defer timer.Stop()
	var err error
	select {
	case err = <-opened:
	case <-timer.C:
		err = fmt.Errorf("no answer within %s", busLimit)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		go b.refer()
		return b, nil
	}
	select {
	case <-b.ended:
		if gone != nil { // it says more than that the pipe is closed
			err = gone
		}
	default:
	}
	end()
	_ = ourIn.CloseWithError(io.ErrClosedPipe)
	_ = ourOut.CloseWithError(io.ErrClosedPipe)
	return nil, err
}

// pipes is a connection made of two.
type pipes struct {
	in  *io.PipeReader
	out *io.PipeWriter
}

func (p pipes) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close ends both.
func (p pipes) Close() error { return errors.Join(p.in.Close(), p.out.Close()) }

func (b *bus) open(ctx context.Context, over io.ReadWriteCloser) error {
	conn, err := dbus.NewConn(over, dbus.WithContext(ctx), dbus.WithSignalHandler(b))
	if err != nil {
		return err
	}
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal("0"), dbus.AuthAnonymous()}); err != nil {
		return err
	}
	if err := conn.Hello(); err != nil {
		return err
	}
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchSender(systemd), dbus.WithMatchInterface(systemd + ".Manager"), dbus.WithMatchMember("JobRemoved")},
		{dbus.WithMatchSender(systemd), dbus.WithMatchInterface(systemd + ".Manager"), dbus.WithMatchMember("UnitNew")},
		{dbus.WithMatchSender(systemd), dbus.WithMatchInterface(systemd + ".Manager"), dbus.WithMatchMember("Reloading")},
		{dbus.WithMatchSender(systemd), dbus.WithMatchInterface(properties), dbus.WithMatchArg(0, systemd+".Service")},
	} {
		if err := conn.AddMatchSignalContext(ctx, match...); err != nil {
			return err
		}
	}
	b.conn = conn
	return conn.Object(systemd, managerPath).CallWithContext(ctx, systemd+".Manager.Subscribe", 0).Err
}

// closeLimit bounds how long the end of the listening may take: over a link that
// is cut, nobody answers.
const closeLimit = 2 * time.Second

// close ends the listening; the units that it referred to are free again.
func (b *bus) close() {
	b.end()
	timer := time.NewTimer(closeLimit)
	defer timer.Stop()
	select {
	case <-b.ended:
	case <-timer.C:
	}
	_ = b.conn.Close()
}

// alive tells whether nothing was missed so far.
func (b *bus) alive() bool {
	select {
	case <-b.ended:
		return false
	default:
		return b.conn.Connected()
	}
}

// begin forgets what was heard so far: what follows is measured against a
// sample, whose units stay loaded from now on.
func (b *bus) begin(s Sample) {
	b.mu.Lock()
	b.reads = 0
	b.events, b.counts, b.births, b.deaths = nil, map[string]int{}, map[string]time.Duration{}, map[string]time.Duration{}
	for _, u := range s.Units {
		if u.ofMachine() {
			b.counts[u.Name], b.births[u.Name], b.deaths[u.Name] = u.Restarts, u.Started, u.Exited
		}
	}
	b.mu.Unlock()
	for _, u := range s.Units {
		if u.ofMachine() && u.Load == "loaded" {
			b.keep(u.Name)
		}
	}
}

func (b *bus) heard() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

// reloaded is how often systemd has read the texts of units.
func (b *bus) reloaded() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads
}

// keeps tells whether a unit is referred to. systemd unloads a unit that is
// inactive and that nothing refers to, and forgets what became of it.
func keeps(unit string) bool {
	switch unit[strings.LastIndexByte(unit, '.')+1:] {
	case "service", "socket", "timer", "path":
		return !asOurs(unit)
	}
	return false
}

// keep refers to a unit for as long as the bus is open.
func (b *bus) keep(unit string) {
	if keeps(unit) {
		select {
		case b.fresh <- unit:
		default: // so many that one more or less tells nothing
		}
	}
}

func (b *bus) refer() {
	manager := b.conn.Object(systemd, managerPath)
	for {
		select {
		case <-b.ended:
			return
		case unit := <-b.fresh:
			manager.Go(systemd+".Manager.RefUnit", dbus.FlagNoReplyExpected, nil, unit)
		}
	}
}

// DeliverSignal takes what systemd says, in the order in which it says it.
func (b *bus) DeliverSignal(_, _ string, signal *dbus.Signal) {
	if unit, ok := newUnit(signal); ok {
		b.keep(unit)
	}
	b.mu.Lock()
	if signal.Name == systemd+".Manager.Reloading" && len(signal.Body) > 0 && signal.Body[0] == true {
		b.reads++
	}
	for _, e := range eventsOf(signal, b.clock()) {
		if b.news(e) {
			b.events = append(b.events, e)
		}
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// news tells whether an event says more than those before it: with each change,
// systemd repeats all properties that ever change.
func (b *bus) news(e event) bool {
	if asOurs(e.unit) {
		return false
	}
	switch e.kind {
	case restarted:
		before := b.counts[e.unit]
		b.counts[e.unit] = e.restarts
		return e.restarts > 0 && e.restarts != before
	case started:
		before := b.births[e.unit]
		b.births[e.unit] = e.at
		return e.at != before
	case ended:
		before := b.deaths[e.unit]
		b.deaths[e.unit] = e.at
		return e.at != before
	case finished:
	}
	return true
}

func newUnit(signal *dbus.Signal) (string, bool) {
	if signal.Name != systemd+".Manager.UnitNew" || len(signal.Body) < 1 {
		return "", false
	}
	unit, ok := signal.Body[0].(string)
	return unit, ok
}

// eventsOf reads a signal that was received at a moment of the machine's clock.
// One that it does not understand says nothing.
func eventsOf(signal *dbus.Signal, now time.Duration) []event {
	var events []event
	switch signal.Name {
	case systemd + ".Manager.JobRemoved": // id, job, unit, result
		if len(signal.Body) < 4 {
			return nil
		}
		unit, ok := signal.Body[2].(string)
		if result, text := signal.Body[3].(string); ok && text {
			events = append(events, event{at: now, unit: unit, kind: finished, result: result})
		}
	case properties + ".PropertiesChanged": // interface, changed, invalidated
		unit := unitName(signal.Path)
		if len(signal.Body) < 2 || unit == "" {
			return nil
		}
		changed, ok := signal.Body[1].(map[string]dbus.Variant)
		if !ok {
			return nil
		}
		if n, ok := changed["NRestarts"].Value().(uint32); ok && n < 1<<31 {
			events = append(events, event{at: now, unit: unit, kind: restarted, restarts: int(n)})
		}
		if at, ok := past(changed, "ExecMainStartTimestampMonotonic"); ok {
			events = append(events, event{at: at, unit: unit, kind: started})
		}
		code, known := changed["ExecMainCode"].Value().(int32)
		status, _ := changed["ExecMainStatus"].Value().(int32)
		if at, ok := past(changed, "ExecMainExitTimestampMonotonic"); ok && known {
			e := event{at: at, unit: unit, kind: ended, result: "exit-code"}
			if code == exited && status == 0 {
				e.result = "success"
			}
			events = append(events, e)
		}
	}
	return events
}

// past is a moment that was.
func past(properties map[string]dbus.Variant, name string) (time.Duration, bool) {
	at, ok := properties[name].Value().(uint64)
	return microseconds(at), ok && at > 0 && at < uint64(forever/time.Microsecond)
}

// unitName is the name in the path of a unit, in which every byte but letters
// and digits is written as _ and two hexadecimal digits (sd_bus_path_encode(3)).
func unitName(path dbus.ObjectPath) string {
	coded, ok := strings.CutPrefix(string(path), unitPath)
	if !ok {
		return ""
	}
	var name strings.Builder
	for i := 0; i < len(coded); i++ {
		if coded[i] != '_' {
			name.WriteByte(coded[i])
			continue
		}
		if i+3 > len(coded) {
			return ""
		}
		octet, err := strconv.ParseUint(coded[i+1:i+3], 16, 8)
		if err != nil {
			return ""
		}
		name.WriteByte(byte(octet))
		i += 2
	}
	return name.String()
}
