package netbox

import (
	"errors"
	"fmt"
)

// version is that of NetBox's API, by which the form of some objects goes.
type version struct{ major, minor int }

// oldest is the first version whose API has the forms that we write: services
// with any kind of parent.
var oldest = version{4, 3}

func parseVersion(text string) (version, error) {
	var v version
	if text == "" {
		return v, errors.New("an answer without API-Version: this is no NetBox, or a proxy answers for it")
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &v.major, &v.minor); err != nil {
		return v, fmt.Errorf("an answer with the API-Version %q", text)
	}
	return v, nil
}

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) atLeast(other version) bool {
	return v.major > other.major || v.major == other.major && v.minor >= other.minor
}
