package bench

import (
	"bytes"
	"math"
	"runtime"
	"strings"

	"github.com/nats-io/nats.go"
)

var nan = math.NaN()

// serverPackages tell the server's part of the process from the members'.
const serverPackages = "github.com/nats-io/nats-server/"

// usage is what all sessions take, and the server for them.
type usage struct {
	heap, serverHeap             float64 // bytes
	goroutines, serverGoroutines float64
	subscriptions                float64
}

func (u usage) minus(o usage) usage {
	return usage{u.heap - o.heap, u.serverHeap - o.serverHeap, u.goroutines - o.goroutines, u.serverGoroutines - o.serverGoroutines, u.subscriptions - o.subscriptions}
}

// heapRate is the mean number of bytes between two samples of the heap: few
// enough that a thousand small objects are measured well.
const heapRate = 2048

// profileHeap has the heap sampled more densely until the function returned is
// called.
func profileHeap() (restore func()) {
	before := runtime.MemProfileRate
	runtime.MemProfileRate = heapRate
	return func() { runtime.MemProfileRate = before }
}

func measureUsage(conns []*nats.Conn) usage {
	var u usage
	u.goroutines, u.serverGoroutines = goroutines()
	u.heap, u.serverHeap = heap()
	for _, nc := range conns {
		u.subscriptions += float64(nc.NumSubscriptions())
	}
	return u
}

// goroutines counts those that the server did not start, and those it did.
func goroutines() (others, servers float64) {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	for _, stack := range bytes.Split(stacks, []byte("\n\n")) {
		if bytes.Contains(stack, []byte(serverPackages)) {
			servers++
		} else {
			others++
		}
	}
	return others, servers
}

// heap is what is in use by others and by the server, estimated from samples.
func heap() (others, servers float64) {
	// The profile is that of the last completed collection, and what one of
	// them finds dead may hold more.
	for range 3 {
		runtime.GC()
	}
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, false); !ok; n, ok = runtime.MemProfile(records, false) {
		records = make([]runtime.MemProfileRecord, n+100)
	}
	for _, r := range records {
		objects, bytes := float64(r.InUseObjects()), float64(r.InUseBytes())
		if objects == 0 {
			continue
		}
		// An object is sampled with the probability 1-e^(-size/rate).
		bytes /= 1 - math.Exp(-bytes/objects/heapRate)
		if byServer(r.Stack()) {
			servers += bytes
		} else {
			others += bytes
		}
	}
	return others, servers
}

func byServer(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, serverPackages) {
			return true
		}
		if !more {
			return false
		}
	}
}
