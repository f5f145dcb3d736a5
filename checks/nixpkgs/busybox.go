package nixpkgs

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// DefaultBusybox is where Debian's package busybox-static has its program.
const DefaultBusybox = "/usr/bin/busybox"

// ErrBusybox says that there is no busybox that the tree could be built with.
var ErrBusybox = errors.New("not a static busybox for this machine (Debian and Ubuntu: package busybox-static)")

// machines names the platforms that the tree can be built for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// readBusybox reads a busybox and makes sure that it will run in a store that
// holds nothing else: it needs no loader and no libraries.
func readBusybox(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read busybox: %w: %w", err, ErrBusybox)
	}
	reject := func(why string) ([]byte, error) {
		return nil, fmt.Errorf("read busybox: %s %s: %w", path, why, ErrBusybox)
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return reject("is no program")
	}
	defer func() { _ = program.Close() }()
	if want, known := machines[runtime.GOARCH]; !known || program.Machine != want {
		return reject(fmt.Sprintf("is made for %s and this machine is %s", program.Machine, runtime.GOARCH))
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return reject("needs a loader")
		}
	}
	libraries, err := program.ImportedLibraries()
	if err == nil && len(libraries) > 0 {
		return reject("needs libraries")
	}
	if !bytes.Contains(data, []byte("BusyBox v")) {
		return reject("is another program")
	}
	return data, nil
}
