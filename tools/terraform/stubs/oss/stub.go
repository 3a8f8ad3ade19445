// Package oss stands in for the state backend of that name, which no test uses
// and whose SDK would multiply the build time.
package oss

import "github.com/hashicorp/terraform/internal/backend"

// New is called only for a configuration that names this backend.
func New() backend.Backend { panic("the oss backend is not built in") }
