package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// serve answers whoever watches the worker:
//
//	/healthz  200 while the session lives: restart the program if not
//	/readyz   200 while it is connected as well: leave it alone if not, it
//	          reconnects by itself
//	/metrics  for Prometheus
//
// A member without partitions and a standby are well. Who has which partitions is
// asked of the group (pcgroups.DescribeElastic), not of its members.
func serve(l net.Listener, nc *nats.Conn, session pcgroups.Session, m *metrics, log *slog.Logger) *http.Server {
	report := func(w http.ResponseWriter, well bool) {
		status := session.Status()
		body := map[string]any{
			"connected":  nc.IsConnected(),
			"consuming":  status.Consuming,
			"pinned":     status.Pinned,
			"partitions": status.Partitions,
			"recovered":  status.Recovered,
		}
		if status.LastRecovered != nil {
			body["last_recovered"] = status.LastRecovered.Error()
		}
		w.Header().Set("Content-Type", "application/json")
		if !well {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(body) // who asked has gone
	}
	lives := func() bool {
		select {
		case <-session.Closed():
			return false
		default:
			return true
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { report(w, lives()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { report(w, lives() && nc.IsConnected()) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics are no longer served", "error", err)
		}
	}()
	return server
}
