package main

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"gotest.tools/v3/assert"
)

func settingsOf(all map[string]attr.Value) types.Map {
	return types.MapValueMust(types.StringType, all)
}

func TestSettingsAreShownAsTheyAreAskedFor(t *testing.T) {
	own := computed{"ipv4.address", "volatile."}
	there := map[string]string{"ipv4.address": "10.0.0.1/24", "volatile.id": "7", "user.a": "b"}
	some := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		model types.Map
		want  map[string]*string
	}{
		"what nobody asked for, but for the server's own": {types.MapNull(types.StringType), map[string]*string{"user.a": some("b")}},
		"the server's own where it was asked for": {
			settingsOf(map[string]attr.Value{"ipv4.address": types.StringValue("none")}), map[string]*string{"user.a": some("b"), "ipv4.address": some("10.0.0.1/24")},
		},
		"null for null": {
			settingsOf(map[string]attr.Value{"ipv4.address": types.StringNull(), "user.c": types.StringNull()}),
			map[string]*string{"user.a": some("b"), "ipv4.address": nil, "user.c": nil},
		},
		"not what was asked for empty": {
			settingsOf(map[string]attr.Value{"user.c": types.StringValue("")}), map[string]*string{"user.a": some("b")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.DeepEqual(t, own.shown(t.Context(), there, test.model), test.want)
		})
	}
}

func TestSettingsAreWrittenWithTheServersOwn(t *testing.T) {
	own := computed{"ipv4.address", "volatile."}
	there := map[string]string{"ipv4.address": "10.0.0.1/24", "volatile.id": "7", "user.a": "b"}
	assert.DeepEqual(t, own.merged(there, map[string]string{"ipv4.address": "none", "user.c": "d", "user.e": ""}),
		map[string]string{"ipv4.address": "none", "volatile.id": "7", "user.c": "d"})
}

func TestInstanceIsKnownByTheCardOfWhichMostIsKnown(t *testing.T) {
	type address = struct{ Family, Address, Scope string }
	s := state{Network: map[string]card{
		"lo":   {Addresses: []address{{"inet", "127.0.0.1", "local"}}},
		"eth1": {MAC: "00:16:3e:00:00:01", Host: "veth1"},
		"eth0": {MAC: "00:16:3e:00:00:00", Host: "veth0", Addresses: []address{{"inet6", "fe80::1", "link"}, {"inet", "10.0.0.7", "global"}}},
	}}
	known := s.card("")
	assert.Equal(t, known.MAC, "00:16:3e:00:00:00")
	assert.Equal(t, known.address("inet").ValueString(), "10.0.0.7")
	assert.Assert(t, known.address("inet6").IsNull())
	assert.Equal(t, s.card("eth1").MAC, "00:16:3e:00:00:01")
	assert.Equal(t, state{Network: map[string]card{"lo": s.Network["lo"]}}.card("").MAC, "")
}

func TestRefusals(t *testing.T) {
	list := func(all ...string) attr.Value {
		values := []attr.Value{}
		for _, one := range all {
			values = append(values, types.StringValue(one))
		}
		return types.ListValueMust(types.StringType, values)
	}
	for name, test := range map[string]struct {
		by    refusal
		value attr.Value
		taken bool
	}{
		"a text":                {filled, types.StringValue("a"), true},
		"an empty text":         {filled, types.StringValue(""), false},
		"a list":                {allFilled, list("a"), true},
		"an empty one in it":    {allFilled, list("a", ""), false},
		"an empty property":     {allFilled, settingsOf(map[string]attr.Value{"path": types.StringValue("")}), false},
		"a kind of device":      {oneOf("disk", "nic"), types.StringValue("nic"), true},
		"no kind of device":     {oneOf("disk", "nic"), types.StringValue("floppy"), false},
		"the user's setting":    {ofTheUser, settingsOf(map[string]attr.Value{"user.a": types.StringValue("")}), true},
		"the server's setting":  {ofTheUser, settingsOf(map[string]attr.Value{"volatile.id": types.StringValue("7")}), false},
		"what is not done here": {idle, types.StringValue("a"), false},
	} {
		assert.Equal(t, test.by.why(test.value) == "", test.taken, name)
	}
}

func TestFileIsSentAgainWhereItDiffers(t *testing.T) {
	f := fileModel{Content: types.StringValue("a"), Mode: types.StringValue("0600"), UID: types.Int64Value(0)}
	assert.Assert(t, f.same(f))
	for name, change := range map[string]func(f *fileModel){
		"content": func(f *fileModel) { f.Content = types.StringValue("b") },
		"mode":    func(f *fileModel) { f.Mode = types.StringValue("0644") },
		"owner":   func(f *fileModel) { f.UID = types.Int64Value(1) },
		"group":   func(f *fileModel) { f.GID = types.Int64Value(1) },
	} {
		other := f
		change(&other)
		assert.Assert(t, !other.same(f), name)
	}
}
