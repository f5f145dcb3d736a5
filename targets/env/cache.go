package env

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
)

// Cache declares where the program keeps what it can make again.
type Cache struct {
	Dir Path `env:"CACHE_DIR" scope:"run" desc:"folder for what can be made again, such as evaluation results; by default slipway in the user's cache folder"`
}

// homeless are the homes that users have who have none, by Debian, NixOS and the
// sandbox of Nix.
var homeless = []string{"/nonexistent", "/var/empty", "/homeless-shelter", "/dev/null"}

// CacheDir returns the absolute path of the cache folder, which it does not make:
// CACHE_DIR, or slipway in XDG_CACHE_HOME, in .cache of HOME, or in .cache of the
// home that the user database has for this process. It needs no HOME. The error
// is a *Problems about CACHE_DIR.
func (e Environment) CacheDir() (string, error) {
	return e.cacheDir(databaseHome)
}

func (e Environment) cacheDir(databaseHome func() (string, error)) (string, error) {
	keys, err := Declared(Cache{})
	if err != nil {
		return "", err
	}
	key := keys[0]
	if value := e.value(key.Name); value != "" {
		var path Path
		if err := path.EnvDecode(value); err != nil {
			return "", problems([]*Problem{key.problem(key.Name, quote(value, e.Redactor())+" "+err.Error())})
		}
		return string(path), nil
	}
	// The XDG specification has relative paths ignored.
	if cache := e.value("XDG_CACHE_HOME"); filepath.IsAbs(cache) {
		return filepath.Join(cache, "slipway"), nil
	}
	if home := e.value("HOME"); isHome(home) {
		return filepath.Join(home, ".cache", "slipway"), nil
	}
	home, err := databaseHome()
	if err == nil && !isHome(home) {
		err = errors.New("the user database has no home either")
	}
	if err != nil {
		return "", problems([]*Problem{key.problem(key.Name, "missing, and without XDG_CACHE_HOME and HOME there is no default: "+err.Error())})
	}
	return filepath.Join(home, ".cache", "slipway"), nil
}

func isHome(path string) bool {
	return filepath.IsAbs(path) && !slices.Contains(homeless, filepath.Clean(path))
}

// databaseHome returns the home of this process's user. It asks by number,
// because user.Current answers from the process environment in some builds.
func databaseHome() (string, error) {
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return "", err
	}
	return account.HomeDir, nil
}
