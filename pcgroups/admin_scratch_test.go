package pcgroups_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

func allCalls(t *testing.T, ctx context.Context, js jetstream.JetStream, stream, group string) {
	show := func(name string, err error) { t.Logf("%-22s %v", name, err) }
	_, err := pcgroups.CreateStatic(ctx, js, stream, group, 2, nil, []string{"m1"}, nil)
	show("CreateStatic", err)
	_, err = pcgroups.CreateElastic(ctx, js, stream, group, 2, byKey, -1, -1)
	show("CreateElastic", err)
	_, err = pcgroups.GetStaticConsumerGroupConfig(ctx, js, stream, group)
	show("GetStatic", err)
	_, err = pcgroups.GetElasticConsumerGroupConfig(ctx, js, stream, group)
	show("GetElastic", err)
	_, err = pcgroups.ListStaticConsumerGroups(ctx, js, stream)
	show("ListStatic", err)
	_, err = pcgroups.ListElasticConsumerGroups(ctx, js, stream)
	show("ListElastic", err)
	_, err = pcgroups.ListStaticActiveMembers(ctx, js, stream, group)
	show("StaticActive", err)
	_, err = pcgroups.ListElasticActiveMembers(ctx, js, stream, group)
	show("ElasticActive", err)
	_, _, err = pcgroups.ElasticIsInMembershipAndActive(ctx, js, stream, group, "m1")
	show("InAndActive", err)
	show("StaticStepDown", pcgroups.StaticMemberStepDown(ctx, js, stream, group, "m1"))
	show("ElasticStepDown", pcgroups.ElasticMemberStepDown(ctx, js, stream, group, "m1"))
	_, err = pcgroups.AddMembers(ctx, js, stream, group, []string{"m1"})
	show("AddMembers", err)
	_, err = pcgroups.DeleteMembers(ctx, js, stream, group, []string{"m1"})
	show("DeleteMembers", err)
	_, err = pcgroups.SetMembers(ctx, js, stream, group, []string{"m1"})
	show("SetMembers", err)
	show("SetMemberMappings", pcgroups.SetMemberMappings(ctx, js, stream, group, []pcgroups.MemberMapping{{Member: "m1", Partitions: []int{0, 1}}}))
	show("DeleteMemberMappings", pcgroups.DeleteMemberMappings(ctx, js, stream, group))
	show("ClearMembership", pcgroups.ClearMembership(ctx, js, stream, group))
	_, err = pcgroups.StaticConsume(ctx, js, stream, group, "m1", func(jetstream.Msg) {}, strict(0))
	show("StaticConsume", err)
	_, err = pcgroups.ElasticConsume(ctx, js, stream, group, "m1", func(jetstream.Msg) {}, strict(0))
	show("ElasticConsume", err)
	show("DeleteStatic", pcgroups.DeleteStatic(ctx, js, stream, group))
	show("DeleteElastic", pcgroups.DeleteElastic(ctx, js, stream, group))
}

func TestAdminScratch(t *testing.T) {
	t.Run("unknown stream", func(t *testing.T) {
		a := newAdmin(t)
		allCalls(t, a.ctx(), a.js, "NOSUCH", "cg")
	})
	t.Run("unknown group", func(t *testing.T) {
		a := newAdmin(t)
		a.elasticGroup("x")
		a.staticGroup("x")
		allCalls(t, a.ctx(), a.js, "ORDERS2", "cg")
	})
	t.Run("odd names", func(t *testing.T) {
		a := newAdmin(t)
		a.elasticGroup("x")
		a.staticGroup("x")
		for _, n := range [][2]string{{"", ""}, {"ORDERS", ""}, {"ORDERS", "a b"}, {"ORDERS", "a.b"}, {"ORDERS", "*"}, {"a b", "x"}, {"a/b", "x"}, {"a.b", "x"}, {"ORDERS", "a/b"}, {"ORDERS", "é"}} {
			t.Logf("---- %q", n)
			allCalls(t, a.ctx(), a.js, n[0], n[1])
		}
	})
	t.Run("no jetstream", func(t *testing.T) {
		srv := natstest.Start(t, natstest.WithoutJetStream())
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		allCalls(t, ctx, srv.JetStream(), "ORDERS", "cg")
	})
	t.Run("account without", func(t *testing.T) {
		srv := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
			acc := server.NewAccount("PLAIN")
			o.Accounts = []*server.Account{acc}
			o.Users = []*server.User{{Username: "u", Password: "p", Account: acc}}
		}))
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		allCalls(t, ctx, srv.JetStream(nats.UserInfo("u", "p")), "ORDERS", "cg")
	})
	t.Run("closed", func(t *testing.T) {
		a := newAdmin(t)
		js := a.srv.JetStream()
		js.Conn().Close()
		allCalls(t, a.ctx(), js, "ORDERS", "cg")
	})
	t.Run("cancelled", func(t *testing.T) {
		a := newAdmin(t)
		a.elasticGroup("cg")
		a.staticGroup("cg")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		allCalls(t, ctx, a.js, "ORDERS", "cg")
	})
}
