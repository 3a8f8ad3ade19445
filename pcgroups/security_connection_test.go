package pcgroups_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/checker"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/internal/natstest"
	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// connectionCase is a way to connect: how the server is, what the client brings,
// and what of it nobody must ever read.
type connectionCase struct {
	server  func(*server.Options)
	client  []nats.Option
	secrets []string
}

// issue makes a certificate for a name, signed by an authority of its own if there
// is none yet.
func issue(t *testing.T, name string, ca *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: ca == nil, BasicConstraintsValid: true,
	}
	parent, signer := template, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func tlsCases(t *testing.T) map[string]connectionCase {
	ca := issue(t, "test CA", nil)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	host, member := issue(t, "127.0.0.1", &ca), issue(t, "member", &ca)
	secure := func(o *server.Options) {
		o.TLS, o.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{host}, MinVersion: tls.VersionTLS12}
	}
	trusting := nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	return map[string]connectionCase{
		"TLS": {secure, []nats.Option{trusting}, nil},
		"handshake first": {func(o *server.Options) { secure(o); o.TLSHandshakeFirst = true },
			[]nats.Option{trusting, nats.TLSHandshakeFirst()}, nil},
		"mutual TLS": {func(o *server.Options) {
			secure(o)
			o.TLSVerify, o.TLSConfig.ClientAuth, o.TLSConfig.ClientCAs = true, tls.RequireAndVerifyClientCert, roots
		}, []nats.Option{nats.Secure(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{member}, MinVersion: tls.VersionTLS12})}, nil},
		"TLS and a password": {func(o *server.Options) { secure(o); o.Username, o.Password = "u", "hunter2-password" },
			[]nats.Option{trusting, nats.UserInfo("u", "hunter2-password")}, []string{"hunter2-password"}},
	}
}

func keyCases(t *testing.T) map[string]connectionCase {
	user, err := nkeys.CreateUser()
	must(t, err)
	public, err := user.PublicKey()
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	creds := newCreds(t)
	return map[string]connectionCase{
		"token": {func(o *server.Options) { o.Authorization = "hunter2-token" }, []nats.Option{nats.Token("hunter2-token")}, []string{"hunter2-token"}},
		"nkey": {func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} },
			[]nats.Option{nats.Nkey(public, user.Sign)}, []string{string(seed)}},
		"credentials file": {creds.server, []nats.Option{nats.UserCredentials(creds.file)}, []string{creds.seed, creds.jwt}},
	}
}

// credsFile is a decentralized user: an operator, its accounts in the server's
// memory, and a user whose JWT carries its permissions.
type credsFile struct {
	server          func(*server.Options)
	file, seed, jwt string
}

func newCreds(t *testing.T) credsFile {
	t.Helper()
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := create()
		must(t, err)
		public, err := k.PublicKey()
		must(t, err)
		return k, public
	}
	operator, operatorPublic := pair(nkeys.CreateOperator)
	account, accountPublic := pair(nkeys.CreateAccount)
	_, systemPublic := pair(nkeys.CreateAccount)
	user, userPublic := pair(nkeys.CreateUser)
	seed, err := user.Seed()
	must(t, err)

	claims := jwt.NewAccountClaims(accountPublic)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	accountJWT, err := claims.Encode(operator)
	must(t, err)
	systemJWT, err := jwt.NewAccountClaims(systemPublic).Encode(operator)
	must(t, err)
	userJWT, err := jwt.NewUserClaims(userPublic).Encode(account)
	must(t, err)
	text, err := jwt.FormatUserConfig(userJWT, seed)
	must(t, err)
	file := filepath.Join(t.TempDir(), "user.creds")
	must(t, os.WriteFile(file, text, 0o600))
	return credsFile{file: file, seed: string(seed), jwt: userJWT, server: func(o *server.Options) {
		resolver := &server.MemAccResolver{}
		for public, text := range map[string]string{accountPublic: accountJWT, systemPublic: systemJWT} {
			if err := resolver.Store(public, text); err != nil {
				t.Error(err)
			}
		}
		o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{operatorPublic}, resolver, systemPublic
	}}
}

// lockedBuffer is a log that may be written to by any goroutine.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Prevents: a session that works only on a bare connection, in particular after a
// reconnect; and a secret of the connection in its log, its errors or what it
// stores.
func TestConnections(t *testing.T) {
	if natstest.Repeated(t) {
		return
	}
	t.Parallel()
	cases := tlsCases(t)
	for name, c := range keyCases(t) {
		cases[name] = c
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := natstest.Start(t, natstest.WithConfig(c.server))
			if nc, err := nats.Connect(srv.URL()); err == nil {
				nc.Close()
				t.Error("the server takes anybody")
			}
			js := srv.JetStream(c.client...)
			f := &fixture{t: t, srv: srv, js: js, check: checker.New(), seq: make(map[string]uint64)}
			f.elastic(2, "m1")
			var log lockedBuffer
			c1 := strict(5 * time.Second)
			c1.MaxAckPending = 100
			s := f.member("m1", 0, c1, pcgroups.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			f.publish(4, 5)
			f.allHandled(20)
			must(t, js.Conn().ForceReconnect())
			f.publish(4, 5)
			f.allHandled(40)
			d, err := pcgroups.DescribeElastic(f.ctx(), js, "ORDERS", "workers")
			must(t, err)
			js.Conn().Close()
			ended := waitDone(t, s)
			refused(t, ended, pcgroups.ErrConnectionClosed)
			if !strings.Contains(log.String(), "partitions assigned") {
				t.Errorf("the log is empty, so this proves nothing: %s", &log)
			}
			for _, secret := range append(c.secrets, "hunter2") {
				for what, text := range map[string]string{"log": log.String(), "error": ended.Error(), "description": strings.Join(d.Unassigned, " ") + d.Stream + d.Group} {
					if strings.Contains(text, secret) {
						t.Errorf("%s holds %q: %s", what, secret, text)
					}
				}
			}
		})
	}
}
