package nixos

import (
	"context"

	"fediversity.eu/slipway/methods/remote"
)

// Mark is what a deployment leaves on a machine that it brought to one of its
// systems: whose the machine is. The zero Mark is none.
type Mark struct {
	Owner   string // deployment, as GROUP-MACHINE
	Program string // that left it
	At      string // UTC, as RFC 3339 writes it
}

const markFile = "/var/lib/slipway/mark"

func (m *Mark) read(key, value string) {
	switch key {
	case "owner":
		m.Owner = value
	case "program":
		m.Program = value
	case "at":
		m.At = value
	}
}

const leaveScript = `
umask 022; mkdir -p /var/lib/slipway
{ echo "owner=$1"; echo "program=$2"; echo "at=$(date -u '+%Y-%m-%dT%H:%M:%SZ')"; } >` + markFile + `.new && mv ` + markFile + `.new ` + markFile

// Leave leaves a mark on a machine, by the machine's clock.
func (m Mark) Leave(ctx context.Context, conn *remote.Conn, fence Fence) error {
	return fence.step(ctx, conn, "note whose the machine is", remote.Command{Script: leaveScript, Args: []string{m.Owner, m.Program}})
}
