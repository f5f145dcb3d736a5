package env

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestCacheDir(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	assert.NilError(t, err)
	errNobody := errors.New("unknown userid 4711")
	for name, c := range map[string]struct {
		values map[string]string
		home   string
		err    error
		want   string
		wrong  string
	}{
		"the key":                {map[string]string{"CACHE_DIR": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/db", nil, "/c", ""},
		"a relative key":         {map[string]string{"CACHE_DIR": "c"}, "/db", nil, filepath.Join(here, "c"), ""},
		"XDG":                    {map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/db", nil, "/x/slipway", ""},
		"a relative XDG is none": {map[string]string{"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/db", nil, "/h/.cache/slipway", ""},
		"HOME":                   {map[string]string{"HOME": "/h", "CACHE_DIR": ""}, "/db", nil, "/h/.cache/slipway", ""},
		"no HOME":                {nil, "/db", nil, "/db/.cache/slipway", ""},
		"HOME of Nix's sandbox":  {map[string]string{"HOME": "/homeless-shelter"}, "/db", nil, "/db/.cache/slipway", ""},
		"a user without home":    {nil, "/var/empty/", nil, "", "CACHE_DIR: missing, and without XDG_CACHE_HOME and HOME there is no default: the user database has no home either"},
		"no such user":           {map[string]string{"HOME": "."}, "", errNobody, "", "CACHE_DIR: missing, and without XDG_CACHE_HOME and HOME there is no default: unknown userid 4711"},
		"a malformed key":        {map[string]string{"CACHE_DIR": "~/c", "HOME": "/h"}, "/db", nil, "", `CACHE_DIR: "~/c" starts with ~, which only a shell expands`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Map(c.values).cacheDir(func() (string, error) { return c.home, c.err })
			assert.Equal(t, got, c.want)
			if c.wrong == "" {
				assert.NilError(t, err)
				return
			}
			var problems *Problems
			assert.Assert(t, errors.As(err, &problems), "%v", err)
			assert.Equal(t, problems.List[0].Variable+": "+problems.List[0].What, c.wrong)
			assert.Assert(t, strings.HasPrefix(problems.List[0].Description, "folder for what can be made again"))
		})
	}
}

func TestCacheDirAsksTheUserDatabase(t *testing.T) {
	t.Parallel()
	passwd, err := os.ReadFile("/etc/passwd")
	assert.NilError(t, err)
	for line := range strings.Lines(string(passwd)) {
		if f := strings.Split(line, ":"); len(f) > 5 && f[2] == strconv.Itoa(os.Getuid()) && isHome(f[5]) {
			got, err := Environment{}.CacheDir()
			assert.NilError(t, err)
			assert.Equal(t, got, f[5]+"/.cache/slipway")
			return
		}
	}
	_, err = Environment{}.CacheDir()
	assert.ErrorContains(t, err, "CACHE_DIR: missing")
}
