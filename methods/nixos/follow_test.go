package nixos

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseFollowed(t *testing.T) {
	for _, c := range []struct {
		name    string
		text    string
		want    followed
		running bool
	}{
		{
			"a switch that runs",
			"LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nExecMainCode=0\nExecMainStatus=0\nInvocationID=abc\n" +
				`{"__CURSOR":"s=1;i=1","MESSAGE":"stopping the following units: web.service"}` + "\n" +
				`{"__CURSOR":"s=1;i=2","MESSAGE":"activating = the configuration..."}` + "\n",
			followed{
				properties: map[string]string{
					"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success",
					"ExecMainCode": "0", "ExecMainStatus": "0", "InvocationID": "abc",
				},
				lines:  []string{"stopping the following units: web.service", "activating = the configuration..."},
				cursor: "s=1;i=2",
			},
			true,
		},
		{
			"a unit that is about to start", "ActiveState=activating\nSubState=start\n",
			followed{properties: map[string]string{"ActiveState": "activating", "SubState": "start"}},
			true,
		},
		{
			"a unit that is being stopped", "ActiveState=deactivating\nSubState=stop-sigterm\n",
			followed{properties: map[string]string{"ActiveState": "deactivating", "SubState": "stop-sigterm"}},
			true,
		},
		{
			"a unit that ended and remains", "ActiveState=active\nSubState=exited\n",
			followed{properties: map[string]string{"ActiveState": "active", "SubState": "exited"}},
			false,
		},
		{
			"an entry that was cut off is asked for again", "SubState=running\n" +
				`{"__CURSOR":"s=1;i=1","MESSAGE":"whole"}` + "\n" + `{"__CURSOR":"s=1;i=2","MESS`,
			followed{properties: map[string]string{"SubState": "running"}, lines: []string{"whole"}, cursor: "s=1;i=1"},
			true,
		},
		{"nothing", "", followed{properties: map[string]string{}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parseFollowed(c.text)
			assert.DeepEqual(t, got.properties, c.want.properties)
			assert.DeepEqual(t, got.lines, c.want.lines)
			assert.Equal(t, got.cursor, c.want.cursor)
			assert.Equal(t, got.running(), c.running)
		})
	}
}

func TestHowAUnitSaysItEnded(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want Switched
		err  string
	}{
		{"well", "ExecMainStatus=0\nResult=success\n", Switched{Code: 0, Result: "success"}, ""},
		{"with failed units", "ExecMainStatus=4\nResult=exit-code\n", Switched{Code: 4, Result: "exit-code"}, ""},
		{"by a signal", "ExecMainStatus=15\nResult=signal\n", Switched{Code: 15, Result: "signal"}, ""},
		{"without saying a code", "Result=success\n", Switched{}, "its state can't be read"},
		{"without saying a result", "ExecMainStatus=0\n", Switched{}, "its state can't be read"},
		{"without saying anything", "", Switched{}, "its state can't be read"},
		{"with a code that is none", "ExecMainStatus=many\nResult=success\n", Switched{}, "its state can't be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseFollowed(c.text).switched()
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got, c.want)
		})
	}
}
