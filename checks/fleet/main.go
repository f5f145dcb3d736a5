// Command fleet serves the machines of the checks on aggregates: a group whose
// published machines do without each other, except that one needs another, and
// of which an internal one comes first; and groups of machines that are alike.
package main

import (
	"fmt"
	"os"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/ssh"
	"fediversity.eu/slipway/targets/front"
	"fediversity.eu/slipway/targets/program"
)

func registry() (*program.Registry, error) {
	machine := func(name string, needs ...string) groups.Machine {
		return groups.Machine{
			Name: name, Description: "a machine of the checks", Modules: []string{"fleet/" + name + ".nix"},
			Placement: groups.External{}, Needs: needs,
		}
	}
	db := machine("db")
	db.Internal = true
	declared := []groups.Group{{
		Name: "fleet", Description: "machines of the checks", Methods: []string{ssh.Name},
		Machines: []groups.Machine{machine("web", "db"), machine("wiki"), machine("blog", "wiki"), machine("mail"), db},
	}}
	for _, n := range []int{1, 4, 16} {
		many := groups.Group{Name: fmt.Sprintf("many%d", n), Description: "machines that are alike", Methods: []string{ssh.Name}}
		for i := range n {
			m := machine(fmt.Sprintf("m%d", i+1))
			m.Modules = []string{"fleet/web.nix"}
			many.Machines = append(many.Machines, m)
		}
		declared = append(declared, many)
	}
	return program.New(declared, []methods.Method{ssh.New(nil, nil)}, nixos.Systems(nil))
}

func main() { os.Exit(int(front.Main(front.Front{Registry: registry}, os.Args))) }
