package conformance

import "embed"

// testdata holds the goldens and the list of divergences, so that the suite runs
// from anywhere.
//
//go:embed testdata
var testdata embed.FS
