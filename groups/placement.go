package groups

// Placement says where a machine lives, and with that what is known about it:
// each kind of placement has the facts of its kind and no others.
type Placement interface{ placement() }

// External is a machine that exists already: hardware, or a virtual machine of
// somebody else. It is known by its address alone, which the coordinates give.
type External struct{}

// Local is a virtual machine that Slipway boots on the host it runs on.
type Local struct {
	MemoryMiB int   `json:"memory_mib,omitempty"`
	DiskMiB   int   `json:"disk_mib,omitempty"`
	Forward   []int `json:"forward,omitempty"` // TCP ports of the machine that get a port on loopback
	Answers   int   `json:"answers,omitempty"` // of these, the one where its service answers over HTTP
}

func (External) placement() {}
func (Local) placement()    {}
