// Command oracle is the reference implementation as a program that speaks the
// adapter protocol. It has to score exactly as the reference does in the suite's
// own process, which shows that the protocol hides and adds nothing.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/conformance"
)

func main() {
	oracle := conformance.Oracle()
	oracle.Hello.Name = "oracle-program" // to tell the two apart in one report
	if err := conformance.Serve(context.Background(), oracle, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
