package natstest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// The wire comparison rests on the capture: a request it misses, alters or
// reorders is a difference between two implementations that nobody sees.
func TestCaptureSeesEveryRequestInOrder(t *testing.T) {
	ctx := testContext(t)
	s := Start(t)
	captured := Capture(t, s.Connect(), "$JS.ACK.>")
	nc := s.Connect()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}

	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "groups"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(ctx, "ORDERS.cg", []byte(`{"max_members":3}`)); err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateConsumer(ctx, "KV_groups", jetstream.ConsumerConfig{Durable: "w", FilterSubject: "$KV.groups.>"})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := consumer.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := msg.DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(ctx, "ORDERS.cg"); err != nil {
		t.Fatal(err)
	}
	captured.Sync(nc)

	all := captured.Requests("")
	next := 0
	for _, prefix := range []string{
		"$JS.API.STREAM.CREATE.KV_groups",
		"$KV.groups.ORDERS.cg",
		"$JS.API.CONSUMER.CREATE.KV_groups.w",
		"$JS.API.CONSUMER.MSG.NEXT.KV_groups.w",
		"$JS.ACK.KV_groups.w",
		"$KV.groups.ORDERS.cg",
	} {
		for next < len(all) && !strings.HasPrefix(all[next].Subject, prefix) {
			next++
		}
		if next == len(all) {
			t.Fatalf("no %s where it is due; captured:\n%s", prefix, subjects(all))
		}
		next++
	}

	puts := captured.Requests("$KV.")
	if len(puts) != 2 {
		t.Fatalf("%d KV publishes, want 2:\n%s", len(puts), subjects(all))
	}
	if got := string(puts[0].Data); got != `{"max_members":3}` {
		t.Errorf("put bytes: %s", got)
	}
	if got := puts[1].Header.Get("KV-Operation"); got != "DEL" {
		t.Errorf("delete header: %q", got)
	}
	var body struct {
		Config struct {
			Durable string `json:"durable_name"`
		} `json:"config"`
	}
	creates := captured.Requests("$JS.API.CONSUMER.CREATE.")
	if err := json.Unmarshal(creates[0].Data, &body); err != nil || body.Config.Durable != "w" {
		t.Errorf("consumer request %s: %v", creates[0].Data, err)
	}
	if creates[0].Reply == "" {
		t.Error("no reply subject")
	}
}

// The order between an API request and a KV publish is part of the contract
// (a bucket before its keys), so the two subscriptions must not race.
func TestCaptureKeepsOrderAcrossSubjects(t *testing.T) {
	s := Start(t, WithoutJetStream())
	captured := Capture(t, s.Connect())
	nc := s.Connect()
	const n = 2000
	for i := range n {
		subject := fmt.Sprintf("$KV.b.%d", i)
		if i%2 == 0 {
			subject = fmt.Sprintf("$JS.API.TEST.%d", i)
		}
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	all := captured.WaitFor(patience, func(r []Request) bool { return len(r) == n })
	for i, r := range all {
		if !strings.HasSuffix(r.Subject, fmt.Sprintf(".%d", i)) {
			t.Fatalf("request %d is %s", i, r.Subject)
		}
	}
}

func subjects(requests []Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintln(&b, r.Subject)
	}
	return b.String()
}
