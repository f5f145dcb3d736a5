package lock

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const prefix = "slipway1"

// ID is who holds a lock.
type ID struct {
	Owner string // the deployment
	Verb  string
	Place
	PID   int
	Start uint64 // when the process started, in clock ticks since the boot
	Nonce string
}

// Place is where a process can be asked whether it lives.
type Place struct {
	Host      string // for people: names repeat among images and containers
	Boot      string // of the kernel, its first 12 characters
	Namespace string // of the process numbers
}

// Here is the place of this process.
func Here() (Place, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Place{}, fmt.Errorf("read the boot id: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Place{}, fmt.Errorf("read the namespace of processes: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Place{Host: host, Boot: string(boot[:min(len(boot), 12)]), Namespace: strings.Trim(namespace, "pid:[]")}, nil
}

// New is the id of a lock that this process takes.
func New(owner, verb string, place Place) (ID, error) {
	pid := os.Getpid()
	start, alive := started(pid)
	if !alive {
		return ID{}, fmt.Errorf("read the start of process %d: is /proc mounted?", pid)
	}
	return ID{Owner: field(owner), Verb: field(verb), Place: place.fields(), PID: pid, Start: start, Nonce: nonce()}, nil
}

// String is the id as it goes to the backend. Some allow 255 characters.
func (i ID) String() string {
	return strings.Join([]string{
		prefix, i.Owner, i.Verb, i.Host, i.Boot, i.Namespace, strconv.Itoa(i.PID), strconv.FormatUint(i.Start, 10), i.Nonce,
	}, ".")
}

// Parse reads an id of ours; ok is false for that of another program.
func Parse(text string) (id ID, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 9 || parts[0] != prefix {
		return ID{}, false
	}
	pid, err := strconv.Atoi(parts[6])
	if err != nil {
		return ID{}, false
	}
	start, err := strconv.ParseUint(parts[7], 10, 64)
	if err != nil {
		return ID{}, false
	}
	return ID{
		Owner: parts[1], Verb: parts[2], Place: Place{Host: parts[3], Boot: parts[4], Namespace: parts[5]},
		PID: pid, Start: start, Nonce: parts[8],
	}, true
}

// Life says whether the process of an id lives.
type Life int

// Unknown is the life of a process that can't be asked.
const (
	Unknown Life = iota
	Alive
	Dead
)

// Life asks about the process of another id. Dead is only what is provably so:
// the same boot, the same numbering of processes, and no such process.
func (i ID) Life(other ID, ours bool) Life {
	if !ours || other.Boot != i.Boot || other.Namespace != i.Namespace {
		return Unknown
	}
	if start, alive := started(other.PID); alive && start == other.Start {
		return Alive
	}
	return Dead
}

// started gives the start of a process, from field 22 of its stat (proc(5)). A
// zombie does not live.
func started(pid int) (start uint64, alive bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, err == nil
}

// fields is a place whose words can stand in an id.
func (p Place) fields() Place {
	return Place{Host: field(p.Host), Boot: field(p.Boot), Namespace: field(p.Namespace)}
}

// field is a word without the dots that part an id.
func field(text string) string {
	const longest = 48
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, text)
	if clean == "" {
		clean = "_"
	}
	return clean[:min(len(clean), longest)]
}

func nonce() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	return hex.EncodeToString(random)
}
