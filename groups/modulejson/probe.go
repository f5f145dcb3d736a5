package modulejson

import (
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/groups"
)

// probe is a question to a machine; one of the three kinds is set.
type probe struct {
	Name     string   `json:"name"`
	Deadline string   `json:"deadline,omitempty"` // as "1m30s"
	TCP      *tcp     `json:"tcp,omitempty"`
	HTTP     *page    `json:"http,omitempty"`
	Command  *command `json:"command,omitempty"`
}

type (
	tcp struct {
		Address string `json:"address"`
	}
	page struct {
		URL      string `json:"url"`
		Host     string `json:"host,omitempty"`
		Status   int    `json:"status,omitempty"`
		Contains string `json:"contains,omitempty"`
	}
	command struct {
		Script string `json:"script"`
	}
)

func probeOf(p groups.Probe) (probe, error) {
	w := probe{Name: p.Name}
	if p.Deadline != 0 {
		w.Deadline = p.Deadline.String()
	}
	switch ask := p.Ask.(type) {
	case groups.TCP:
		w.TCP = &tcp{ask.Address}
	case groups.HTTP:
		w.HTTP = &page{ask.URL, ask.Host, ask.Status, ask.Contains}
	case groups.Command:
		w.Command = &command{ask.Script}
	default:
		return w, fmt.Errorf("probe %q: %T has no form in %s", p.Name, p.Ask, File)
	}
	return w, nil
}

func (w probe) probe() (groups.Probe, error) {
	p := groups.Probe{Name: w.Name}
	if w.Deadline != "" {
		var err error
		if p.Deadline, err = time.ParseDuration(w.Deadline); err != nil {
			return p, fmt.Errorf("deadline %q is no duration", w.Deadline)
		}
	}
	asked := 0
	if w.TCP != nil {
		asked, p.Ask = asked+1, groups.TCP{Address: w.TCP.Address}
	}
	if w.HTTP != nil {
		asked, p.Ask = asked+1, groups.HTTP{URL: w.HTTP.URL, Host: w.HTTP.Host, Status: w.HTTP.Status, Contains: w.HTTP.Contains}
	}
	if w.Command != nil {
		asked, p.Ask = asked+1, groups.Command{Script: w.Command.Script}
	}
	if asked != 1 {
		return p, errors.New("it asks one of tcp, http and command")
	}
	return p, p.Check()
}
