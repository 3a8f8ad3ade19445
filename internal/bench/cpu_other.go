//go:build !unix

package bench

import "time"

// cpuTime is not known here; what would be derived from it is left out.
func cpuTime() time.Duration { return 0 }
