// Package reports makes records of runs that never were, with everything that a
// record can hold, for tests of what shows records.
package reports

import (
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/report"
)

// Began is when every run of this package began.
var Began = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// fate is how one machine fares.
type fate struct {
	code  report.Code
	words string
	error *report.Problem
	units []report.Unit
	took  time.Duration
}

// Combined is the record of a combined run over so many machines, db and forge
// and others, and two effects: most are healthy, forge is not.
func Combined(machines int) *report.Record {
	r := &report.Record{
		Version: 1, Program: "operator-ssh-combined-apply", Group: "operator", Method: "ssh", Verb: "apply",
		Started: Began, ExitCode: report.Failed, Outcome: "failed", Changed: true,
	}
	known := []struct {
		name string
		fate fate
	}{{"db", healthy(19)}, {"web", healthy(44)}, {"forge", looping()}, {"mail", rebooting()}, {"wiki", failing()}}
	last := Began
	for i := range machines {
		name, f := fmt.Sprintf("site-%d", i), healthy(20+i%17)
		if i < len(known) {
			name, f = known[i].name, known[i].fate
		} else if i%50 == 0 {
			f = looping()
		}
		began := Began.Add(time.Duration(i%7) * 300 * time.Millisecond)
		var needs []string
		if name != "db" {
			began, needs = began.Add(21*time.Second), []string{"operator-ssh-db-apply"}
		}
		m := machine(name, f, began)
		m.Needs = needs
		last = later(last, m.Ended)
		r.Members = append(r.Members, m)
	}
	blamed := "operator-ssh-forge-apply ended unhealthy"
	for _, effect := range []string{"dns", "registrars"} {
		e := &report.Record{
			Version: 1, Program: "operator-" + effect + "-apply", Group: "operator", Effect: effect, Verb: "apply",
			Started: last, Ended: last, ExitCode: report.Failed, Outcome: report.NotStarted,
			Error: &report.Problem{What: "not started: " + blamed},
		}
		for _, m := range r.Members {
			e.Needs = append(e.Needs, m.Program)
		}
		blamed = "operator-dns-apply ended not started"
		r.Members = append(r.Members, e)
	}
	r.Ended = last.Add(40 * time.Millisecond)
	r.Error = &report.Problem{What: "some of the programs did not end healthy"}
	return r
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// machine is the record of one machine's deployment.
func machine(name string, f fate, began time.Time) *report.Record {
	switched := 0
	r := &report.Record{
		Version: 1, Program: "operator-ssh-" + name + "-apply", Group: "operator", Method: "ssh", Machine: name, Verb: "apply",
		Started: began, Ended: began.Add(f.took), ExitCode: f.code, Outcome: f.words, Error: f.error, Units: f.units, Changed: true,
		Source:   &report.Source{Modules: "operator (baked in)", Hash: strings.Repeat("5e", 32), Nixpkgs: "/nix/store/" + strings.Repeat("n", 32) + "-nixpkgs", Cached: name != "db"},
		Toplevel: system(name, "25.11"), Running: system(name, "25.05"), Generation: 12,
		Copied: &report.Copied{Paths: 32, Bytes: 2 << 20}, Switch: &switched,
		Probes: []report.Probe{{Name: "site", Asked: "http://127.0.0.1/", Outcome: "right", Seconds: 0.2}},
	}
	at := began
	for _, step := range []struct {
		name  string
		share float64
	}{{"evaluate", .18}, {"build", .12}, {"connect", .04}, {"copy", .2}, {"switch", .16}, {"verdict", .28}} {
		took := time.Duration(step.share * float64(f.took))
		r.Timings = append(r.Timings, report.Timing{Step: step.name, Started: at, Seconds: took.Seconds()})
		at = at.Add(took)
		if f.code == report.Failed && step.name == "connect" {
			r.Toplevel, r.Generation, r.Copied, r.Switch, r.Probes, r.Changed = "", 0, nil, nil, nil, false
			break
		}
	}
	return r
}

func system(name, release string) string {
	return "/nix/store/" + strings.Repeat("0", 32) + "-nixos-system-" + name + "-" + release
}

func healthy(seconds int) fate {
	return fate{code: report.Healthy, words: "healthy", took: time.Duration(seconds) * time.Second}
}

// looping is a machine of which one service starts again and again.
func looping() fate {
	since := Began.Add(50 * time.Second)
	return fate{
		code: report.Unhealthy, words: "unhealthy", took: 58 * time.Second,
		error: &report.Problem{
			What: "judge the machine: 1 unit unhealthy\nforgejo.service: restarts again and again (exit-code, exit status 1, 4 restarts, since 09:27:43 UTC)",
		},
		units: []report.Unit{
			{
				Name: "forgejo.service", Class: "new", Fault: "restarts again and again", Why: "its processes live for less than a second",
				Since: &since, Result: "exit-code", ExitStatus: 1, Exit: "exit status 1", Restarts: 4,
				Journal: []string{
					`2026/03/14 09:27:42 cmd/web.go:304:runWeb() [I] Starting Forgejo on PID: 1873`,
					`2026/03/14 09:27:42 routers/common/db.go:36:InitDBEngine() [E] dial tcp 192.0.2.15:5432: connect: connection refused, with options that are longer than any line of a page could be: host=192.0.2.15 port=5432 sslmode=verify-full connect_timeout=10`,
					`forgejo.service: Main process exited, code=exited, status=1/FAILURE`,
					`forgejo.service: Failed with result 'exit-code'.`,
				},
			},
			{Name: "logrotate.service", Class: "old", Fault: "failed", Result: "exit-code", ExitStatus: 2, Exit: "exit status 2", Journal: []string{"error: skipping \"/var/log/nginx\" because parent directory has insecure permissions"}},
			{Name: "nginx.service", Class: "remark", Fault: "was restarted once", Restarts: 1},
		},
	}
}

func rebooting() fate {
	return fate{
		code: report.RebootNeeded, words: "reboot needed", took: 52 * time.Second,
		error: &report.Problem{What: "judge the machine: healthy, but the running kernel is another than the system's", Hints: []string{"SSH_REBOOT=if-needed lets a run reboot the machine"}},
	}
}

func failing() fate {
	return fate{
		code: report.Failed, words: "failed", took: 33 * time.Second,
		error: &report.Problem{What: "connect to the machine (root@192.0.2.19:22): dial: i/o timeout after 30 s", Hints: []string{"is the machine up, and does a firewall let port 22 through?"}},
	}
}

// Planned is the record of one machine's plan by OpenTofu, beside one that went
// back and one of zones: what the others don't hold.
func Planned() *report.Record {
	r := machine("web", healthy(12), Began)
	r.Program, r.Method, r.Verb = "operator-tf-web-plan", "tf", "plan"
	r.Outcome = report.Done
	r.Plan = &report.Plan{
		Changes: true, Added: 7, Removed: 3, Bytes: 5 << 20, Stop: []string{"old.service"}, Start: []string{"fresh.service"},
		Restart: []string{"nginx.service", "web.service"}, Reload: []string{"dbus.service"}, Skip: []string{"getty.service"}, Reboot: []string{"kernel"},
	}
	r.State = &report.State{Lineage: "6f1c1d0e-93a5", Serial: 41, Plan: &report.Counts{Changes: true, Add: 1, Change: 2, Remove: 3, Import: 4}}
	r.Reverted = &report.Reverted{From: system("web", "given-up"), To: system("web", "taken-up"), Why: "nobody could log in", At: "2026-03-14T09:27:00Z"}
	r.Zones = []report.Zone{{Name: "example.org.", Records: 10, Create: 3, Change: 2, Delete: 1}}
	r.Units = []report.Unit{{Name: "mpd.service", User: "1000", Class: "tolerated", Fault: "failed", Result: "signal", ExitStatus: 9}}
	r.Probes = append(r.Probes, report.Probe{Name: "database", Asked: "tcp 127.0.0.1:5432", Outcome: "wrong", Why: "connection refused", Seconds: 30})
	r.Needs = []string{"operator-tf-db-plan"}
	r.Error = &report.Problem{What: "nothing went wrong", Hints: []string{"nothing is to be done"}}
	return r
}
