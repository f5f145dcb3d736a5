package image

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects/image/root"
	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/report"
)

// guard refuses an image in which root has an empty password, whoever made it. The
// evaluation refuses those that NixOS would make so; here is looked at what lies in
// the root. Where that can't be told it says so, and the evaluation's word is all
// there is.
func guard(ctx context.Context, f incus.Files, log *report.Log) error {
	accounts, err := root.Look(ctx, f.Root)
	if err == nil && len(accounts) == 0 {
		err = errors.New("it holds no file of accounts")
	} else if err != nil && !errors.Is(err, root.ErrClosed) {
		return fmt.Errorf("read %s: %w", f.Root, err)
	}
	if err != nil {
		log.Warnf("whether root has an empty password was not seen in %s itself: %v. Of its modules it is known that they set none", f.Root, err)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		open := emptyRoot
		if path.Ext(name) == ".json" {
			open = emptyDeclared
		}
		if open(accounts[name]) {
			return report.Refuse("look at the image", fmt.Errorf("root has an empty password in its /%s", name),
				"whoever reaches a machine made from it could log in: set users.users.root.hashedPassword to \"!\"; nothing was published")
		}
	}
	log.Infof("root has no empty password in %s: looked at %s", path.Base(f.Root), strings.Join(slices.Sorted(maps.Keys(accounts)), ", "))
	return nil
}

// emptyRoot tells whether the second field of root's line is empty (passwd(5),
// shadow(5)).
func emptyRoot(text []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "root:"); ok {
			return strings.HasPrefix(rest, ":")
		}
	}
	return false
}

// emptyDeclared tells the same of the file that NixOS makes the accounts of when a
// machine first starts.
func emptyDeclared(text []byte) bool {
	var declared struct {
		Users []struct {
			Name                                                             string
			HashedPassword, InitialHashedPassword, InitialPassword, Password *string
		}
	}
	if json.Unmarshal(text, &declared) != nil {
		return false // another file of that name
	}
	for _, u := range declared.Users {
		for _, password := range []*string{u.HashedPassword, u.InitialHashedPassword, u.InitialPassword, u.Password} {
			if u.Name == "root" && password != nil && *password == "" {
				return true
			}
		}
	}
	return false
}
