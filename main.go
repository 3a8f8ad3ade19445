// Terraform-provider-pcgroups is the Terraform provider for partitioned consumer
// groups on NATS JetStream. Terraform starts it; see package provider.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/provider"
)

// version is set by the release build with -ldflags "-X main.version=1.2.3".
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "run on its own and print how to attach Terraform to it, for use under a debugger")
	show := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *show {
		fmt.Println(version)
		return
	}

	p := provider.New(version)
	err := providerserver.Serve(context.Background(), func() fwprovider.Provider { return p }, providerserver.ServeOpts{
		Address: provider.Address,
		Debug:   *debug,
	})
	p.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
