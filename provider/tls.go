package provider

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
)

// tlsSettings are the attribute tls, the environment and the context, resolved.
type tlsSettings struct {
	caFile, caPEM      string
	certFile, certPEM  string
	keyFile, keyPEM    string
	serverName         string
	handshakeFirst     bool
	insecureSkipVerify bool
}

// settings resolves the attribute. A file and a text of the same thing are one
// setting: a text in the block wins over a file in the environment.
func (m tlsModel) settings(getenv func(string) string, named natsContext) tlsSettings {
	s := tlsSettings{
		caFile: m.CAFile.ValueString(), caPEM: m.CAPEM.ValueString(),
		certFile: m.CertFile.ValueString(), certPEM: m.CertPEM.ValueString(),
		keyFile: m.KeyFile.ValueString(), keyPEM: m.KeyPEM.ValueString(),
		serverName: m.ServerName.ValueString(), insecureSkipVerify: m.InsecureSkipVerify.ValueBool(),
		handshakeFirst: m.HandshakeFirst.ValueBool() || m.HandshakeFirst.IsNull() && named.TLSFirst,
	}
	if s.caPEM == "" {
		s.caFile = cmp.Or(s.caFile, getenv("NATS_CA"), named.CA)
	}
	// Certificate and key belong together, so they come from one place.
	if s.certPEM == "" && s.certFile == "" && s.keyPEM == "" && s.keyFile == "" {
		s.certFile, s.keyFile = getenv("NATS_CERT"), getenv("NATS_KEY")
		if s.certFile == "" && s.keyFile == "" {
			s.certFile, s.keyFile = named.Cert, named.Key
		}
	}
	return s
}

// options are those of the connection. Without settings there are none: a server
// that requires TLS says so, and gets it.
func (s tlsSettings) options(from origins) ([]nats.Option, error) {
	if (s == tlsSettings{}) {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.serverName, InsecureSkipVerify: s.insecureSkipVerify}
	ca, err := textOr(from.ca, s.caPEM, s.caFile)
	if err != nil {
		return nil, err
	}
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s: it holds no certificate in PEM form", from.ca)
		}
	}
	cert, err := textOr(from.cert, s.certPEM, s.certFile)
	if err != nil {
		return nil, err
	}
	key, err := textOr(from.cert, s.keyPEM, s.keyFile)
	if err != nil {
		return nil, err
	}
	switch {
	case (cert == nil) != (key == nil):
		return nil, fmt.Errorf("%s: a client certificate needs its key, and a key its certificate. Set both in one place, as file or PEM", from.cert)
	case cert != nil:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.cert, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	opts := []nats.Option{nats.Secure(config)}
	if s.handshakeFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	return opts, nil
}

// textOr returns the text, or that of the file, or nil if neither is set.
func textOr(from, text, file string) ([]byte, error) {
	switch {
	case text != "":
		return []byte(text), nil
	case file == "":
		return nil, nil
	}
	content, err := os.ReadFile(expandHome(file, os.Getenv))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return content, nil
}
