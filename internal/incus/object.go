package incus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
)

// Object is what is known of a thing on the server that can carry marks.
type Object struct {
	Config map[string]string `json:"config"`
}

// Get looks for a thing by the parts of its path, such as "instances", "web", in
// a project; "" is for what belongs to none.
func (c *Client) Get(ctx context.Context, project string, parts ...string) (Object, error) {
	var o Object
	return o, c.call(ctx, http.MethodGet, path(Query{"project": project}, parts...), nil, &o)
}

// Instance is a container or a virtual machine, as it is now.
type Instance struct {
	Running bool
	// Addresses are the global ones that last: IPv4 first, of the cards in the order of
	// their names.
	Addresses []string
}

// Instance looks at one.
func (c *Client) Instance(ctx context.Context, name string) (Instance, error) {
	var s struct {
		Status  string `json:"status"`
		Network map[string]struct {
			Host      string `json:"host_name"` // its other end, of a card that Incus made
			MAC       string `json:"hwaddr"`
			Addresses []struct {
				Family  string `json:"family"`
				Address string `json:"address"`
				Scope   string `json:"scope"`
			} `json:"addresses"`
		} `json:"network"`
	}
	if err := c.call(ctx, http.MethodGet, path(Query{"project": c.remote.Project}, "instances", name, "state"), nil, &s); err != nil {
		return Instance{}, err
	}
	i := Instance{Running: s.Status == "Running"}
	var cards []string
	for card, c := range s.Network {
		// What the machine made itself, a bridge of its own, leads nowhere from here.
		if c.Host != "" {
			cards = append(cards, card)
		}
	}
	slices.Sort(cards)
	for _, family := range []string{"inet", "inet6"} {
		for _, card := range cards {
			var own []string
			for _, a := range s.Network[card].Addresses {
				if a.Family == family && a.Scope == "global" {
					own = append(own, a.Address)
				}
			}
			i.Addresses = append(i.Addresses, lasting(own, s.Network[card].MAC)...)
		}
	}
	return i, nil
}

// lasting leaves those addresses out beside which a card has one in the same network
// that is made of its hardware address (RFC 4291, appendix A): they are ones that a
// machine changes for the sake of privacy (RFC 8981).
func lasting(addresses []string, mac string) []string {
	hardware, err := net.ParseMAC(mac)
	if err != nil || len(hardware) != 6 {
		return addresses
	}
	id := []byte{hardware[0] ^ 2, hardware[1], hardware[2], 0xff, 0xfe, hardware[3], hardware[4], hardware[5]}
	fixed := map[netip.Prefix]string{}
	network := func(text string) (netip.Addr, netip.Prefix) {
		address, err := netip.ParseAddr(text)
		if err != nil || !address.Is6() {
			return address, netip.Prefix{}
		}
		return address, netip.PrefixFrom(address, 64).Masked()
	}
	for _, text := range addresses {
		if address, of := network(text); of.IsValid() && bytes.Equal(address.AsSlice()[8:], id) {
			fixed[of] = text
		}
	}
	return slices.DeleteFunc(addresses, func(text string) bool {
		_, of := network(text)
		return fixed[of] != "" && fixed[of] != text
	})
}

// ErrNoFile is a file that an instance does not have.
var ErrNoFile = errors.New("the instance has no such file")

// largestFile bounds what is read out of an instance.
const largestFile = 1 << 20

// File reads a file of an instance: of a container by its file system, of a virtual
// machine by its agent.
func (c *Client) File(ctx context.Context, instance, file string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errors.New("the server took too long to answer"))
	defer cancel()
	q, err := c.request(ctx, http.MethodGet, path(Query{"project": c.remote.Project, "path": file}, "instances", instance, "files"), nil)
	if err != nil {
		return nil, err
	}
	r, err := c.http.Do(q)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(r.Body, largestFile))
	switch {
	case err != nil:
		return nil, err
	case r.StatusCode == http.StatusNotFound:
		return nil, ErrNoFile
	case r.StatusCode != http.StatusOK:
		return nil, &StatusError{http.MethodGet, q.URL.Path, r.StatusCode, string(text)}
	}
	return text, nil
}

// In is the same client for another project.
func (c *Client) In(project string) *Client {
	other := *c
	other.remote.Project = project
	return &other
}

// Project is the project that the coordinates name.
func (c *Client) Project() string { return c.remote.Project }

// Address is where the server listens.
func (c *Client) Address() string { return c.base }
