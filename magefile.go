//go:build mage

// Slipway puts NixOS machines into service: every target deploys, judges or
// checks something. Programs are run by their target or by their name.
package main

import (
	//mage:import
	"fediversity.eu/slipway/targets"
	"fediversity.eu/slipway/targets/front"
)

// Default lists the programs.
var Default = targets.Programs.List

func init() { front.Hook(targets.Front()) }
