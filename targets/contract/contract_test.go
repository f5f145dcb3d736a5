package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
)

func made(t *testing.T) (*program.Registry, *contract.Contract) {
	t.Helper()
	r, err := catalog.Registry()
	assert.NilError(t, err)
	c, err := contract.New(r)
	assert.NilError(t, err)
	return r, c
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(contract.Schema))
	assert.NilError(t, err)
	compiler := jsonschema.NewCompiler()
	assert.NilError(t, compiler.AddResource("contract.json", document))
	compiled, err := compiler.Compile("contract.json")
	assert.NilError(t, err)
	return compiled
}

func TestDocumentsAreValid(t *testing.T) {
	_, c := made(t)
	compiled := schema(t)
	for name, write := range map[string]func() ([]byte, error){
		"whole": c.Document, "programs": c.ProgramsDocument, "keys": c.KeysDocument,
	} {
		text, err := write()
		assert.NilError(t, err, name)
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		assert.NilError(t, err, name)
		assert.NilError(t, compiled.Validate(document), name)
	}
}

func TestTheSchemaRefuses(t *testing.T) {
	compiled := schema(t)
	const good = `{"version":1,"programs":[{"name":"a-ssh-b-apply","target":"a:sshBApply","description":"d","published":true,"kind":"deployment","group":"a","reads":"ssh apply"}]}`
	for name, change := range map[string][2]string{
		"another version":                   {`"version":1`, `"version":2`},
		"a name of capitals":                {`"a-ssh-b-apply"`, `"A-ssh"`},
		"an unknown field":                  {`"group":"a"`, `"group":"a","owner":"x"`},
		"an unknown kind":                   {`"deployment"`, `"machine"`},
		"a program that reads nothing":      {`,"reads":"ssh apply"`, ``},
		"an aggregate that reads by itself": {`"deployment"`, `"all"`},
		"nothing at all":                    {`"programs":[`, `"program":[`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		assert.Assert(t, text != good, name)
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		assert.NilError(t, err, name)
		assert.Assert(t, compiled.Validate(document) != nil, name)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(good))
	assert.NilError(t, err)
	assert.NilError(t, compiled.Validate(document))
}

func TestEveryProgramIsPublishedWithWhatItReads(t *testing.T) {
	r, c := made(t)
	assert.Equal(t, len(c.Programs), len(r.Programs()))
	for _, p := range r.Programs() {
		own, ok := c.Find(p.Name)
		assert.Assert(t, ok, p.Name)
		assert.Equal(t, own.Name, p.Name)
		assert.Equal(t, own.Published, !p.Internal)
		if p.Short != "" {
			short, ok := c.Find(p.Short)
			assert.Assert(t, ok, p.Short)
			assert.DeepEqual(t, short, own)
		}
		keys, err := r.Keys(p)
		assert.NilError(t, err)
		variables := c.Variables(own)
		for _, key := range keys {
			if key.Scope == env.ScopeAll {
				for _, name := range key.Variables() {
					assert.Assert(t, slices.Contains(variables, name), "%s: %s", p.Name, name)
				}
			}
		}
		for _, member := range own.Members {
			_, ok := c.Find(member)
			assert.Assert(t, ok, "%s: %s", p.Name, member)
		}
	}
	_, ok := c.Find("operator-ssh-wbe")
	assert.Assert(t, !ok)
	_, ok = c.Find("operator-ssh-web-plan-apply")
	assert.Assert(t, !ok)
}

func TestVariables(t *testing.T) {
	_, c := made(t)
	for _, one := range []struct {
		program string
		has     []string
		hasNot  []string
	}{
		{"operator-ssh-web", []string{"SSH_HOST", "WEB_SSH_HOST", "SSH_KEY", "SSH_KEY_FILE", "WEB_SSH_KEY_FILE", "PARALLELISM", "CACHE_DIR"}, []string{"WEB_PARALLELISM", "WEB_CACHE_DIR", "DB_SSH_HOST", "DNS_TOKEN", "TF_HTTP_ADDRESS", "SSH_HOST_FILE"}},
		{"operator-ssh-all", []string{"WEB_SSH_HOST", "FORGE_SSH_HOST", "SSH_USER", "SSH_KEY"}, []string{"SSH_HOST", "DB_SSH_HOST", "WEB_PARALLELISM"}},
		{"operator-combined", []string{"DB_SSH_HOST", "DNS_TOKEN", "DNS_TOKEN_FILE"}, []string{"SSH_HOST", "WEB_DNS_TOKEN"}},
		{"dev-ssh-all", []string{"PARALLELISM"}, []string{"SSH_HOST", "LOCAL_SSH_HOST"}},
		{"hypervisor-ssh-hv1", []string{"SSH_HOST", "HV1_SSH_HOST", "HYPERVISOR_SSH_HOST", "HYPERVISOR_SSH_KEY_FILE"}, []string{"HYPERVISOR_PARALLELISM", "OPERATOR_SSH_KEY"}},
		{
			"platform-combined",
			[]string{
				"HV1_SSH_HOST", "HYPERVISOR_SSH_HOST", "HYPERVISOR_SSH_JUMP", "HOSTING_PROVIDER_INCUS_PROJECT", "OPERATOR_INCUS_CLIENT_KEY_FILE",
				"OPERATOR_INCUS_PROJECT", "INCUS_PROJECT", "WEB_INCUS_PROJECT", "GATEWAY_TF_HTTP_ADDRESS", "PARALLELISM", "OPERATOR_MODULE_SOURCE",
				"OPERATOR_OPERATOR_MODULE_SOURCE", "HYPERVISOR_SELF_MODULE_SOURCE", "OPERATOR_STATE_PHASE", "OPERATOR_DNS_TOKEN",
			},
			[]string{
				"SSH_HOST", "TF_HTTP_ADDRESS", "HOSTING_PROVIDER_SSH_HOST", "OPERATOR_TF_HTTP_ADDRESS", "HYPERVISOR_INCUS_PROJECT",
				"HYPERVISOR_DNS_TOKEN", "PLATFORM_SSH_KEY", "OPERATOR_PARALLELISM", "OPERATOR_REPORT",
			},
		},
		{
			"operator-dns",
			[]string{"DNS_TOKEN", "DNS_DOMAIN", "OPERATOR_DNS_TOKEN_FILE", "WEB_ADDRESSES", "DB_ADDRESSES", "FORGE_SSH_HOST_KEY"},
			[]string{"SSH_HOST", "WEB_DNS_TOKEN", "OPERATOR_ADDRESSES", "GATEWAY_ADDRESSES"},
		},
	} {
		p, ok := c.Find(one.program)
		assert.Assert(t, ok, one.program)
		variables := c.Variables(p)
		for _, name := range one.has {
			assert.Check(t, slices.Contains(variables, name), "%s reads %s", one.program, name)
		}
		for _, name := range one.hasNot {
			assert.Check(t, !slices.Contains(variables, name), "%s does not read %s", one.program, name)
		}
	}
}

// problems are the keys that a program finds fault with, in an environment.
func problems(t *testing.T, r *program.Registry, name string, values map[string]string) []string {
	t.Helper()
	session, err := r.NewSession(t.Context(), env.Map(values), program.Streams{Out: io.Discard, Err: io.Discard})
	if err == nil {
		defer session.Close()
		err = session.Accept(t.Context(), program.Call{Name: name})
	}
	list, ok := errors.AsType[*env.Problems](err)
	if !ok {
		return nil
	}
	var all []string
	for _, one := range list.List {
		all = append(all, one.Name+" "+strings.SplitN(one.What, ";", 2)[0])
	}
	return all
}

// webNeeds tells whether the machine web must have a key in a run of p.
func webNeeds(t *testing.T, c *contract.Contract, p contract.Program, key string) bool {
	t.Helper()
	return slices.ContainsFunc(p.Members, func(name string) bool {
		member, ok := c.Find(name)
		assert.Assert(t, ok)
		i := slices.IndexFunc(c.Readers, func(r contract.Reader) bool { return r.Name == member.Reads })
		return member.Machine == "web" && slices.ContainsFunc(c.Readers[i].Keys, func(k contract.Read) bool { return k.Name == key && k.Required })
	})
}

// TestNothingButItsVariablesMatters sets everything that the contract does not
// promise to what no key accepts, and each that is required to the same.
func TestNothingButItsVariablesMatters(t *testing.T) {
	r, c := made(t)
	const garbage = "\x01"
	everything := map[string]bool{}
	for _, p := range c.Programs {
		for _, name := range c.Variables(p) {
			everything[name] = true
		}
	}
	garbled := 0
	for _, p := range c.Programs {
		own := c.Variables(p)
		others := map[string]string{}
		for name := range everything {
			if !slices.Contains(own, name) {
				others[name] = garbage
			}
		}
		before := problems(t, r, p.Name, nil)
		assert.DeepEqual(t, problems(t, r, p.Name, others), before)
		for _, name := range own {
			plain, ofWeb := strings.CutPrefix(name, "WEB_")
			if p.Kind != program.Combined || !slices.Contains(before, plain+" missing") || ofWeb && !webNeeds(t, c, p, plain) {
				continue
			}
			garbled++
			after := problems(t, r, p.Name, map[string]string{name: garbage})
			assert.Assert(t, !slices.Equal(after, before), "%s does not read %s", p.Name, name)
		}
	}
	assert.Assert(t, garbled > 10)
}

func TestKeysSayWhoReadsThem(t *testing.T) {
	_, c := made(t)
	names := map[string]bool{}
	for _, reader := range c.Readers {
		names[reader.Name] = true
	}
	for _, set := range c.Sets {
		for _, key := range set.Keys {
			assert.Assert(t, len(key.Readers) > 0, key.Name)
			for _, reader := range key.Readers {
				assert.Assert(t, names[reader], reader)
			}
			assert.Assert(t, set.Name != "node" || key.Scope == env.ScopeMachine, key.Name)
		}
	}
	keys := c.Keys()
	assert.Assert(t, slices.IsSortedFunc(keys, func(a, b contract.Key) int { return strings.Compare(a.Name, b.Name) }))
	i := slices.IndexFunc(keys, func(k contract.Key) bool { return k.Name == "DNS_DOMAIN" })
	assert.Assert(t, slices.Contains(keys[i].Readers, "dns apply") && slices.Contains(keys[i].Readers, "ssh apply"), "%v", keys[i].Readers)
}

func TestTheDocumentHoldsEverything(t *testing.T) {
	_, c := made(t)
	text, err := c.Document()
	assert.NilError(t, err)
	var got struct {
		Version  int
		Programs []contract.Program
		Readers  []contract.Reader
		Sets     []contract.Set
		Fixed    []env.Variable
	}
	assert.NilError(t, json.Unmarshal(text, &got))
	assert.Equal(t, got.Version, contract.Version)
	assert.DeepEqual(t, contract.Contract{Programs: got.Programs, Readers: got.Readers, Sets: got.Sets, Fixed: got.Fixed}, *c)
}
