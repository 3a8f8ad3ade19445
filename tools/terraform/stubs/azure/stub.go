// Package azure stands in for the state backend of that name, which no test uses
// and whose SDK would multiply the build time.
package azure

import "github.com/hashicorp/terraform/internal/backend"

// New is called only for a configuration that names this backend.
func New() backend.Backend { panic("the azure backend is not built in") }
