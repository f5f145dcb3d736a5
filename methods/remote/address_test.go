package remote

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseHop(t *testing.T) {
	cases := map[string]struct {
		text    string
		want    Hop
		address string
		fault   string
	}{
		"name":                        {text: "web.example.org", want: Hop{Host: "web.example.org"}, address: "web.example.org:22"},
		"user, name and port":         {text: "root@web:2222", want: Hop{Host: "web", User: "root", Port: 2222}, address: "web:2222"},
		"IPv4":                        {text: "10.0.0.1:22", want: Hop{Host: "10.0.0.1", Port: 22}, address: "10.0.0.1:22"},
		"IPv6, bare":                  {text: "u@2001:db8::1", want: Hop{Host: "2001:db8::1", User: "u"}, address: "[2001:db8::1]:22"},
		"IPv6 in brackets":            {text: "[2001:db8::1]", want: Hop{Host: "2001:db8::1"}, address: "[2001:db8::1]:22"},
		"IPv6 in brackets, with port": {text: "u@[::1]:7", want: Hop{Host: "::1", User: "u", Port: 7}, address: "[::1]:7"},
		"zone":                        {text: "fe80::1%eth0", want: Hop{Host: "fe80::1%eth0"}, address: "[fe80::1%eth0]:22"},
		"zone in brackets":            {text: "[fe80::1%eth0]:9", want: Hop{Host: "fe80::1%eth0", Port: 9}, address: "[fe80::1%eth0]:9"},
		"zone as in a URL":            {text: "u@[fe80::1%25eth0]", want: Hop{Host: "fe80::1%eth0", User: "u"}, address: "[fe80::1%eth0]:22"},
		"user with an at sign":        {text: "me@corp@web", want: Hop{Host: "web", User: "me@corp"}, address: "web:22"},
		"empty":                       {text: "", fault: "host is empty"},
		"empty user":                  {text: "@web", fault: "no user before the @"},
		"empty host":                  {text: "u@:22", fault: "host is empty"},
		"port that is no number":      {text: "web:ssh", fault: `port "ssh" is no number`},
		"port without a number":       {text: "web:", fault: `port "" is no number`},
		"port zero":                   {text: "web:0", fault: `port "0" is no number`},
		"port too high":               {text: "web:65536", fault: `port "65536" is no number`},
		"bracket open":                {text: "[::1", fault: "bracket not closed"},
		"text after the bracket":      {text: "[::1]22", fault: `"22" after the bracket`},
		"name in brackets":            {text: "[web]", fault: "only an IPv6 address stands in brackets"},
		"no IPv6 address":             {text: "a:b:c", fault: "no IPv6 address"},
		"an option":                   {text: "-oProxyCommand=x", fault: "neither a name nor an address"},
		"a user that is an option":    {text: "-l@web", fault: "no login name"},
		"a URL":                       {text: "ssh://web", fault: "is no number"},
		"two words":                   {text: "web db", fault: "neither a name nor an address"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			hop, err := ParseHop(test.text)
			if test.fault != "" {
				assert.ErrorContains(t, err, test.fault)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, hop, test.want)
			assert.Equal(t, hop.Address(), test.address)
		})
	}
}

func TestParseJump(t *testing.T) {
	hops, err := ParseJump("user@gate:2022, user2@[fe80::1%25eth0]:22")
	assert.NilError(t, err)
	assert.DeepEqual(t, hops, []Hop{
		{Host: "gate", User: "user", Port: 2022}, {Host: "fe80::1%eth0", User: "user2", Port: 22},
	})
	hops, err = ParseJump(" ")
	assert.NilError(t, err)
	assert.Equal(t, len(hops), 0)
	_, err = ParseJump("gate,,u@:1x")
	assert.ErrorContains(t, err, "host is empty")
	assert.ErrorContains(t, err, `port "1x"`)
}

func TestTargetFaultsComeAllAtOnce(t *testing.T) {
	_, err := Dial(t.Context(), Target{
		Host: "-x", Port: 70000, User: "a b", HostKeys: []string{"nonsense", "ssh-ed25519 AAAA"},
		Jumps: []Hop{{Host: "[web"}}, ConnectTimeout: -1,
	})
	for _, fault := range []string{
		`jump host 1: host "[web": bracket not closed`, `host "-x": neither`, "port 70000", `user "a b"`,
		"host key 1 of", "host key 2 of", "a limit below zero",
	} {
		assert.ErrorContains(t, err, fault)
	}
}
