package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// attemptWith connects, or tells why not.
func attemptWith(t *testing.T, s settings) error {
	t.Helper()
	s.connectTimeout, s.requestTimeout = 2*time.Second, 2*time.Second
	c := newClient(s)
	defer c.close()
	js, err := c.jetStream(t.Context())
	if err == nil && !strings.HasPrefix(s.name, "no JetStream") {
		_, err = js.AccountInfo(t.Context())
	}
	return err
}

// connectCase is one way to connect to a server.
type connectCase struct {
	name string
	s    settings
	want string // in the error, none if empty
}

func (tc connectCase) run(t *testing.T, url string) {
	t.Helper()
	if len(tc.s.servers) == 0 {
		tc.s.servers = []string{url}
	}
	err := attemptWith(t, tc.s)
	if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
		t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
	}
}

// Prevents: credentials that are accepted and not used, in each form.
func TestConnect_nkey(t *testing.T) {
	t.Parallel()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	s := natstest.Start(t, natstest.WithConfig(func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} }))
	for _, tc := range []connectCase{
		{"none", settings{}, "Authorization Violation"},
		{"seed", settings{credentials: credentials{seed: string(seed) + "\n"}}, ""},
		{"seed in a file", settings{credentials: credentials{seedFile: file(t, string(seed))}}, ""},
		{"not a seed", settings{credentials: credentials{seed: "SUnot"}}, "illegal base32"},
		{"no such file", settings{credentials: credentials{seedFile: "/nowhere"}}, "/nowhere"},
	} {
		tc.run(t, s.URL())
	}
}

// Prevents: credentials files that work from a file only.
func TestConnect_credentials(t *testing.T) {
	t.Parallel()
	operator, _ := nkeys.CreateOperator()
	account, _ := nkeys.CreateAccount()
	user, _ := nkeys.CreateUser()
	operatorPublic, _ := operator.PublicKey()
	accountPublic, _ := account.PublicKey()
	userPublic, _ := user.PublicKey()
	userSeed, _ := user.Seed()
	accountJWT, err := jwt.NewAccountClaims(accountPublic).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	userJWT, err := jwt.NewUserClaims(userPublic).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(userJWT, userSeed)
	if err != nil {
		t.Fatal(err)
	}
	s := natstest.Start(t, natstest.WithoutJetStream(), natstest.WithConfig(func(o *server.Options) {
		o.TrustedKeys = []string{operatorPublic}
		resolver := &server.MemAccResolver{}
		if err := resolver.Store(accountPublic, accountJWT); err != nil {
			t.Error(err)
		}
		o.AccountResolver = resolver
	}))
	const name = "no JetStream here"
	for _, tc := range []connectCase{
		{"text", settings{name: name, credentials: credentials{text: string(creds)}}, ""},
		{"file", settings{name: name, credentials: credentials{file: file(t, string(creds))}}, ""},
		{"jwt and seed of a context", settings{name: name, credentials: credentials{jwt: userJWT, seed: string(userSeed)}}, ""},
		{"none", settings{name: name}, "Authorization Violation"},
		{"not credentials", settings{name: name, credentials: credentials{text: "no credentials"}}, "it holds no user JWT"},
	} {
		tc.run(t, s.URL())
	}
}

// Prevents: a TLS setting that has no effect, in particular one that should have
// kept the connection from being made.
func TestConnect_tls(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue("client")
	_, otherKey := other.issue("client")
	plain := natstest.Start(t, natstest.WithConfig(func(o *server.Options) { o.TLSConfig, o.TLS = ca.server("127.0.0.1", false), true }))
	named := natstest.Start(t, natstest.WithConfig(func(o *server.Options) { o.TLSConfig, o.TLS = ca.server("nats.test", false), true }))
	mutual := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.TLSConfig, o.TLS, o.TLSVerify = ca.server("127.0.0.1", true), true, true
	}))
	early := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.TLSConfig, o.TLS, o.TLSHandshakeFirst = ca.server("127.0.0.1", false), true, true
	}))
	open := natstest.Start(t)
	for _, tc := range []struct {
		connectCase
		url string
	}{
		{connectCase{"CA as text", settings{tls: tlsSettings{caPEM: ca.pem}}, ""}, plain.URL()},
		{connectCase{"CA in a file", settings{tls: tlsSettings{caFile: file(t, ca.pem)}}, ""}, plain.URL()},
		{connectCase{"another CA", settings{tls: tlsSettings{caPEM: other.pem}}, "certificate"}, plain.URL()},
		{connectCase{"no CA", settings{}, "certificate"}, plain.URL()},
		{connectCase{"not checked", settings{tls: tlsSettings{insecureSkipVerify: true}}, ""}, plain.URL()},
		{connectCase{"no such file", settings{tls: tlsSettings{caFile: "/nowhere"}}, "open /nowhere"}, plain.URL()},
		{connectCase{"no certificate in it", settings{tls: tlsSettings{caPEM: "x"}}, "it holds no certificate"}, plain.URL()},
		{connectCase{"another name", settings{tls: tlsSettings{caPEM: ca.pem}}, "certificate"}, named.URL()},
		{connectCase{"that name", settings{tls: tlsSettings{caPEM: ca.pem, serverName: "nats.test"}}, ""}, named.URL()},
		{connectCase{"client certificate", settings{tls: tlsSettings{caPEM: ca.pem, certPEM: cert, keyPEM: key}}, ""}, mutual.URL()},
		{connectCase{"in files", settings{tls: tlsSettings{caPEM: ca.pem, certFile: file(t, cert), keyFile: file(t, key)}}, ""}, mutual.URL()},
		{connectCase{"without key", settings{tls: tlsSettings{caPEM: ca.pem, certPEM: cert}}, "a client certificate needs its key"}, mutual.URL()},
		{connectCase{"another key", settings{tls: tlsSettings{caPEM: ca.pem, certPEM: cert, keyPEM: otherKey}}, "private key does not match"}, mutual.URL()},
		{connectCase{"no client certificate", settings{tls: tlsSettings{caPEM: ca.pem}}, "tls"}, mutual.URL()},
		{connectCase{"handshake first", settings{tls: tlsSettings{caPEM: ca.pem, handshakeFirst: true}}, ""}, early.URL()},
		{connectCase{"a server without TLS", settings{tls: tlsSettings{caPEM: ca.pem}}, "secure connection not available"}, open.URL()},
	} {
		tc.run(t, tc.url)
	}
}

// Prevents: a domain, a prefix or an inbox that is not used, so that the wrong
// JetStream is changed or no answer ever comes.
func TestConnect_subjects(t *testing.T) {
	t.Parallel()
	hub := natstest.Start(t, natstest.WithConfig(func(o *server.Options) {
		o.JetStreamDomain = "hub"
		o.Users = []*server.User{
			{Username: "all", Password: "p"},
			{Username: "narrow", Password: "p", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_tf.>"}}}},
		}
	}))
	all, narrow := credentials{user: "all", password: "p"}, credentials{user: "narrow", password: "p"}
	for _, tc := range []connectCase{
		{"its domain", settings{credentials: all, domain: "hub"}, ""},
		{"another domain", settings{credentials: all, domain: "other"}, "nats: "},
		{"its prefix", settings{credentials: all, apiPrefix: "$JS.hub.API."}, ""},
		{"another prefix", settings{credentials: all, apiPrefix: "JS.other.API"}, "nats: "},
		{"an inbox that is not allowed", settings{credentials: narrow}, "context deadline exceeded"},
		{"one that is", settings{credentials: narrow, inboxPrefix: "_INBOX_tf"}, ""},
	} {
		tc.run(t, hub.URL())
	}
}

// Prevents: a server that restarts failing the run although retries were asked
// for, and refused credentials being tried again and again.
func TestConnect_retries(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t, natstest.WithUser("u", "right"))
	s.Shutdown()
	connected := make(chan error, 1)
	good := settings{servers: []string{"nats://" + s.Addr()}, credentials: credentials{user: "u", password: "right"}, maxRetries: 30}
	go func() { connected <- attemptWith(t, good) }()
	natstest.Never(t, 300*time.Millisecond, func() bool { return len(connected) != 0 }, "it did not try again")
	s.Restart()
	if err := <-connected; err != nil {
		t.Error(err)
	}
	bad := good
	bad.credentials.password = "wrong"
	start := time.Now()
	if err := attemptWith(t, bad); err == nil || time.Since(start) > retryPause {
		t.Errorf("refused credentials: %v after %v", err, time.Since(start))
	}
	c := newClient(settings{servers: []string{"nats://127.0.0.1:1"}, connectTimeout: time.Second, maxRetries: 1000})
	a, _ := c.attempt()
	c.close()
	<-a.done
	if a.err == nil {
		t.Error("connected to nothing")
	}
}
