package qemu

import (
	"fmt"
	"strconv"
	"strings"
)

// parseUsernet reads QEMU's "info usernet": one connection a line, forwards
// among them as
//
//	TCP[HOST_FORWARD]  13  127.0.0.1 34567  10.0.2.15 22  0 0
//
// It returns guest port → host port.
func parseUsernet(text string) (map[int]int, error) {
	ports := map[int]int{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[0] != "TCP[HOST_FORWARD]" {
			continue
		}
		host, err := strconv.Atoi(fields[3])
		if err != nil {
			return nil, fmt.Errorf("read forwards: line %q: %w", strings.TrimSpace(line), err)
		}
		guest, err := strconv.Atoi(fields[5])
		if err != nil {
			return nil, fmt.Errorf("read forwards: line %q: %w", strings.TrimSpace(line), err)
		}
		ports[guest] = host
	}
	return ports, nil
}
