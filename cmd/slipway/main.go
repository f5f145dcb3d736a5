// Command slipway runs every program of this repository: by name, or called by
// a link that has a program's name.
package main

import (
	"os"

	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/front"
)

func main() {
	os.Exit(int(front.Main(catalog.Front(), os.Args)))
}
