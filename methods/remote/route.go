package remote

import (
	"errors"
	"fmt"
	"slices"
)

// stop is a hop that was checked: normal in form, its host keys read.
type stop struct {
	Hop
	where string // user@host:port
	keys  hostKeys
}

// Check names everything that is wrong with the target itself, all at once;
// nothing is dialled.
func (t Target) Check() error {
	_, err := t.route()
	return err
}

// route is the way to the target, the target last. It reports every fault of
// the target's values.
func (t Target) route() ([]stop, error) {
	user := t.User
	if user == "" {
		user = "root"
	}
	hops := append(append([]Hop{}, t.Jumps...), Hop{Host: t.Host, Port: t.Port, User: user, HostKeys: t.HostKeys})
	var stops []stop
	var faults []error
	for i, h := range hops {
		if h.User == "" {
			h.User = user
		}
		s, err := h.check()
		if err != nil && i < len(t.Jumps) {
			err = fmt.Errorf("jump host %d: %w", i+1, err)
		}
		stops, faults = append(stops, s), append(faults, err)
	}
	if t.ConnectTimeout < 0 || t.KeepAlive < 0 {
		faults = append(faults, errors.New("a limit below zero"))
	}
	return stops, errors.Join(faults...)
}

// BarredOnTheWay tells whether a jump host is why the target was not reached, and that
// it is none of what passes while a machine boots: it has another key, or does not let
// us in or through.
func (t Target) BarredOnTheWay(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Class {
	case ForwardRefused:
		return true
	case HostKeyUnknown, HostKeyChanged, HostKeyWrongType, HostKeyRevoked, Unauthenticated:
		stops, _ := t.route()
		return slices.ContainsFunc(stops[:len(stops)-1], func(s stop) bool { return s.where == e.Host })
	}
	return false
}

func (h Hop) check() (stop, error) {
	host, err := bareHost(h.Host)
	faults := []error{err, checkUser(h.User)}
	if h.Port < 0 || h.Port > 65535 {
		faults = append(faults, fmt.Errorf("port %d is no number from 1 to 65535", h.Port))
	}
	h.Host = host
	keys, err := readHostKeys(h)
	faults = append(faults, err)
	return stop{Hop: h, where: h.User + "@" + h.Address(), keys: keys}, errors.Join(faults...)
}

func (t Target) withDefaults() Target {
	if t.ConnectTimeout == 0 {
		t.ConnectTimeout = DefaultConnectTimeout
	}
	if t.KeepAlive == 0 {
		t.KeepAlive = DefaultKeepAlive
	}
	return t
}
