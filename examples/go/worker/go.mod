// A module of its own, so that programs which import pcgroups, and the provider,
// do not depend on Prometheus. In a copy of this folder, change the path, drop the
// replace line and run: go get github.com/nats-pcgroups/terraform-provider-pcgroups
module github.com/nats-pcgroups/terraform-provider-pcgroups/examples/go/worker

go 1.26.0

require (
	github.com/nats-io/nats.go v1.55.0
	github.com/nats-pcgroups/terraform-provider-pcgroups v0.0.0
	github.com/prometheus/client_golang v1.25.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/nats-io/nkeys v0.4.17 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/nats-pcgroups/terraform-provider-pcgroups => ../../..
