// Command tfcli prints the path of the Terraform or OpenTofu program that the
// demo and the acceptance tests use, building one if the machine has none.
//
//	tfcli            the one that would be used
//	tfcli tofu       OpenTofu as pinned in tools/tofu
//	tfcli terraform  Terraform as pinned in tools/terraform
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/tfcli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cli, err := choose(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tfcli:", err)
		os.Exit(1)
	}
	fmt.Println(cli.Path)
}

func choose(ctx context.Context, args []string) (tfcli.CLI, error) {
	switch len(args) {
	case 0:
		return tfcli.Find(ctx, os.Stderr)
	case 1:
		return tfcli.Pinned(ctx, args[0], os.Stderr)
	default:
		return tfcli.CLI{}, errors.New("usage: tfcli [tofu|terraform]")
	}
}
