package verdict

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// peer is the far side of a bus: it lets everybody in, answers every call with
// nothing, and says what it is told to once somebody has subscribed.
type peer struct {
	says func(ctx context.Context, say func(*dbus.Message) error) error

	mu   sync.Mutex
	kept []string // units that were referred to
}

func (p *peer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	from := bufio.NewReader(in)
	if _, err := from.ReadByte(); err != nil { // a NUL comes first
		return err
	}
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		answer := "REJECTED EXTERNAL\r\n"
		switch {
		case strings.HasPrefix(line, "BEGIN"):
			return p.talk(ctx, from, out)
		case strings.HasPrefix(line, "AUTH EXTERNAL"):
			answer = "DATA\r\n"
		case strings.HasPrefix(line, "DATA"):
			answer = "OK 0123456789abcdef0123456789abcdef\r\n"
		case strings.HasPrefix(line, "NEGOTIATE"):
			answer = "ERROR\r\n"
		}
		if _, err := io.WriteString(out, answer); err != nil {
			return err
		}
	}
}

func (p *peer) talk(ctx context.Context, from io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var writing sync.Mutex
	serial := uint32(0)
	say := func(m *dbus.Message) error {
		writing.Lock()
		defer writing.Unlock()
		serial++
		return encode(m, serial, out)
	}
	calls := make(chan *dbus.Message)
	go func() {
		for {
			m, err := dbus.DecodeMessage(from)
			if err != nil {
				stop(err)
				return
			}
			select {
			case calls <- m:
			case <-ctx.Done(): // nobody listens any more
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-calls:
			member, _ := m.Headers[dbus.FieldMember].Value().(string)
			if member == "RefUnit" {
				p.mu.Lock()
				p.kept = append(p.kept, m.Body[0].(string))
				p.mu.Unlock()
			}
			if m.Flags&dbus.FlagNoReplyExpected == 0 {
				reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(m.Serial())}}
				if member == "Hello" {
					reply.Body = []any{":1.7"}
					reply.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(""))
				}
				if err := say(reply); err != nil {
					return err
				}
			}
			if member == "Subscribe" && p.says != nil {
				go func() { stop(p.says(ctx, say)) }()
			}
		}
	}
}

// encode writes a message under a serial, which the library keeps to itself.
func encode(m *dbus.Message, serial uint32, out io.Writer) error {
	var text strings.Builder
	if err := m.EncodeTo(&text, binary.LittleEndian); err != nil {
		return err
	}
	octets := []byte(text.String())
	binary.LittleEndian.PutUint32(octets[8:], serial) // after order, type, flags, version and length of the body
	_, err := out.Write(octets)
	return err
}

// signal is a message of systemd.
func signal(path, of, member string, body ...any) *dbus.Message {
	return &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath(path)), dbus.FieldInterface: dbus.MakeVariant(of), dbus.FieldMember: dbus.MakeVariant(member),
		dbus.FieldSender: dbus.MakeVariant(":1.0"), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(body...)),
	}, Body: body}
}

// change is the signal of properties of a service that changed.
func change(unit string, properties map[string]dbus.Variant) *dbus.Message {
	return signal(unitPath+escaped(unit), "org.freedesktop.DBus.Properties", "PropertiesChanged", systemd+".Service", properties, []string{})
}

func escaped(unit string) string {
	var b strings.Builder
	for _, c := range []byte(unit) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func jobRemoved(unit, result string) *dbus.Message {
	return signal(managerPath, systemd+".Manager", "JobRemoved", uint32(7), dbus.ObjectPath("/job/7"), unit, result)
}

// replay says the recorded signals when their time has come: lines of
// milliseconds, what it is about, the unit, and a value.
func replay(text string) func(context.Context, func(*dbus.Message) error) error {
	return func(ctx context.Context, say func(*dbus.Message) error) error {
		began := time.Now()
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			at, _ := strconv.Atoi(f[0])
			select {
			case <-time.After(time.Until(began.Add(time.Duration(at) * time.Millisecond))):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			var m *dbus.Message
			switch f[1] {
			case "UnitNew":
				m = signal(managerPath, systemd+".Manager", "UnitNew", f[2], dbus.ObjectPath(unitPath+escaped(f[2])))
			case "JobRemoved":
				m = jobRemoved(f[2], f[3])
			case "NRestarts":
				n, _ := strconv.ParseUint(f[3], 10, 32)
				m = change(f[2], map[string]dbus.Variant{f[1]: dbus.MakeVariant(uint32(n))})
			default:
				n, _ := strconv.ParseUint(f[3], 10, 64)
				m = change(f[2], map[string]dbus.Variant{f[1]: dbus.MakeVariant(n)})
			}
			if err := say(m); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}
