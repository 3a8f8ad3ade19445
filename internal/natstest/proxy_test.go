package natstest

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A connection must break at the cut, not come back during it, not even by the
// addresses a clustered server advertises, and come back after it.
func TestConnectionBreaksAndHeals(t *testing.T) {
	for name, node := range map[string]func(*testing.T) *Server{
		"single":  func(t *testing.T) *Server { return Start(t, WithoutJetStream()) },
		"cluster": func(t *testing.T) *Server { return StartCluster(t, 3).Node(0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := node(t)
			p := StartProxy(t, s.Addr())
			var events Recorder[string]
			nc := s.ConnectVia(p,
				nats.DisconnectErrHandler(func(*nats.Conn, error) { events.Add("disconnected") }),
				nats.ReconnectHandler(func(*nats.Conn) { events.Add("reconnected") }))
			p.Cut()
			events.WaitN(t, 1, patience)
			Never(t, 100*time.Millisecond, nc.IsConnected, "connected through a cut link")
			p.Heal()
			events.Wait(t, patience, func(e []string) bool { return e[len(e)-1] == "reconnected" })
			if err := nc.FlushTimeout(patience); err != nil {
				t.Error(err)
			}
		})
	}
}

// The benchmarks at 1 ms and 10 ms trust the delay: the round trip must be it,
// and pipelined requests must not each pay for it.
func TestDelayIsTheRoundTrip(t *testing.T) {
	s := Start(t, WithoutJetStream())
	p := StartProxy(t, s.URL())
	nc := s.ConnectVia(p)
	const oneWay = 20 * time.Millisecond
	p.Delay(oneWay)
	Eventually(t, patience, func() error {
		rtt, err := nc.RTT()
		if err == nil && rtt < 2*oneWay {
			t.Fatalf("round trip %v, less than %v", rtt, 2*oneWay)
		}
		if err == nil && rtt > 3*oneWay { // a busy machine may need another look
			err = errors.New("round trip " + rtt.String())
		}
		return err
	})

	var got Recorder[struct{}]
	if _, err := nc.Subscribe("x", func(*nats.Msg) { got.Add(struct{}{}) }); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	begin := time.Now()
	for range n {
		if err := nc.Publish("x", make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	got.WaitN(t, n, patience)
	if took := time.Since(begin); took > n*oneWay/10 {
		t.Errorf("%d messages took %v", n, took)
	}
}
