package groups

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// Probe is a question that a machine must answer before it counts as healthy. It
// is asked from the machine itself, again and again until the answer is right or
// the deadline has passed.
type Probe struct {
	Name     string // for messages and records
	Ask      Question
	Deadline time.Duration // from the end of a switch; 0 means DefaultDeadline
}

// DefaultDeadline is that of a probe that names none.
const DefaultDeadline = 30 * time.Second

// Question is what a probe asks: TCP, HTTP or Command.
type Question interface {
	fmt.Stringer
	check() error
}

// TCP asks for a connection to an address, "127.0.0.1:5432".
type TCP struct{ Address string }

// HTTP asks for a page.
type HTTP struct {
	URL      string // "http://127.0.0.1/"
	Host     string // the site that is asked for, where it is not the URL's host
	Status   int    // the status that is right; 0 means 200
	Contains string // a text that the page must contain
}

// Command runs a script as root, which must exit 0.
type Command struct{ Script string }

// Limit is the deadline, or the default.
func (p Probe) Limit() time.Duration {
	if p.Deadline == 0 {
		return DefaultDeadline
	}
	return p.Deadline
}

// Check names everything that is wrong with the declaration.
func (p Probe) Check() error {
	var faults []error
	if p.Name == "" || strings.ContainsAny(p.Name, "\r\n\t") {
		faults = append(faults, errors.New("no name of one line"))
	}
	if p.Deadline < 0 {
		faults = append(faults, fmt.Errorf("a deadline of %s", p.Deadline))
	}
	if p.Ask == nil {
		faults = append(faults, errors.New("nothing to ask"))
	} else {
		faults = append(faults, p.Ask.check())
	}
	return errors.Join(faults...)
}

// Expected is the status that is right.
func (q HTTP) Expected() int {
	if q.Status == 0 {
		return 200
	}
	return q.Status
}

func (q TCP) String() string     { return "tcp " + q.Address }
func (q Command) String() string { return "command" }

// String names the page, and the site where that is another.
func (q HTTP) String() string {
	if q.Host != "" {
		return q.URL + " as " + q.Host
	}
	return q.URL
}

func (q TCP) check() error {
	host, port, err := net.SplitHostPort(q.Address)
	if err == nil && (host == "" || port == "") {
		err = errors.New("host or port is missing")
	}
	if err != nil {
		return fmt.Errorf("address %q: %w", q.Address, err)
	}
	return nil
}

func (q HTTP) check() error {
	var faults []error
	address, err := url.Parse(q.URL)
	if err == nil && (address.Host == "" || (address.Scheme != "http" && address.Scheme != "https")) {
		err = errors.New("no http or https address of a host")
	}
	if err != nil {
		faults = append(faults, fmt.Errorf("URL %q: %w", q.URL, err))
	}
	if q.Expected() < 100 || q.Expected() > 599 {
		faults = append(faults, fmt.Errorf("status %d", q.Status))
	}
	return errors.Join(faults...)
}

func (q Command) check() error {
	if strings.TrimSpace(q.Script) == "" {
		return errors.New("an empty script")
	}
	return nil
}
