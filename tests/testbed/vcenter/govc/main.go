// The commands of govc that export an inventory; the program itself is a module of its own.
package main

import (
	"os"

	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/datastore"
	_ "github.com/vmware/govmomi/cli/object"
	_ "github.com/vmware/govmomi/cli/vm"
)

func main() { os.Exit(cli.Run(os.Args[1:])) }
