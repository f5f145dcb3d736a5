package nixos

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
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

// TestFollowScript runs the script beside a systemctl that answers from files,
// one a question.
func TestFollowScript(t *testing.T) {
	const running = "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nInvocationID=abc\nMainPID=%d\n"
	const ended = "MainPID=0\nExecMainCode=1\nExecMainStatus=4\nResult=exit-code\nActiveState=failed\nSubState=failed\nInvocationID=abc\n"
	for _, c := range []struct {
		name    string
		answers []string
		cursor  string
		running bool
		read    string // of the journal
	}{
		{"it has ended", []string{ended}, "", false, "_SYSTEMD_UNIT=unit"},
		{"it has ended, and some was read", []string{ended}, "s=1;i=1", false, "_SYSTEMD_UNIT=unit --after-cursor=s=1;i=1"},
		{"its process starts", []string{"SubState=start\nMainPID=0\n", ended}, "", false, "_SYSTEMD_UNIT=unit"},
		{"the last answer is that it starts", []string{"MainPID=0\nSubState=start", ended}, "", false, "_SYSTEMD_UNIT=unit"},
		{"its process is gone", []string{fmt.Sprintf(running, 1<<30), ended}, "", false, "_SYSTEMD_UNIT=unit"},
		{"its process is there", []string{fmt.Sprintf(running, os.Getpid()), fmt.Sprintf(running, os.Getpid())}, "", true, "_SYSTEMD_UNIT=unit"},
		{"nobody knows it", []string{"LoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\nInvocationID=\n"}, "", false, ""},
		{"systemd does not answer", []string{""}, "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := []fs.PathOp{
				fs.WithFile("systemctl", "#!/bin/sh\ncd \"${0%/*}\"; echo >>asked; exec cat \"$(wc -l <asked)\"\n", fs.WithMode(0o755)),
				fs.WithFile("journalctl", "#!/bin/sh\n[ \"$1\" = --sync ] || { shift 3; echo \"Read=$*\"; }\n", fs.WithMode(0o755)),
			}
			for i, answer := range c.answers {
				files = append(files, fs.WithFile(fmt.Sprint(i+1), answer))
			}
			dir := fs.NewDir(t, "bin", files...)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", followScript, "sh", "unit", c.cursor, dir.Path())
			cmd.Env = append(os.Environ(), "PATH="+dir.Path()+":"+os.Getenv("PATH"))
			out, err := cmd.Output()
			assert.NilError(t, err)
			seen := parseFollowed(string(out))
			assert.Equal(t, seen.running(), c.running, "%s", out)
			assert.Equal(t, seen.properties["Read"], c.read)
			asked, err := os.ReadFile(dir.Join("asked"))
			assert.NilError(t, err)
			assert.Equal(t, strings.Count(string(asked), "\n"), len(c.answers))
		})
	}
}
