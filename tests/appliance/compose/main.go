// Reads a compose file as Compose does, with every profile, and prints it as JSON with all that it
// refers to put in: compose FILE. A file that Compose would refuse ends it with status 1 and why.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithProfiles([]string{"*"}))
	if err != nil {
		fail(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		fail(err)
	}
	read, err := project.MarshalJSON()
	if err != nil {
		fail(err)
	}
	fmt.Println(string(read))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
