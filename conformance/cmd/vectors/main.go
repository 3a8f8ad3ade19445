// Command vectors generates the test vectors in conformance/vectors from the
// reference implementation.
//
//	go run ./conformance/cmd/vectors
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/conformance"
)

func main() {
	out := flag.String("out", "conformance/vectors", "`folder` to write to")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	lab, err := conformance.EmbeddedLab(ctx)
	if err != nil {
		return err
	}
	files, err := conformance.Vectors(ctx, lab)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, f := range files {
		text, err := conformance.EncodeVectors(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), text, 0o644)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d cases\n", name, len(f.Cases))
	}
	return nil
}
