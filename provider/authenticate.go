package provider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// credentials are those of one user: one kind of them, or none.
type credentials struct {
	file, text     string // of a credentials file
	seedFile, seed string // an NKey seed
	jwt            string // goes with seed
	user, password string
	token          string
}

func (c credentials) any() bool { return c != credentials{} }

// authenticate finds the credentials, and whose they are: the block's, else the
// environment's, else the context's.
func (m providerModel) authenticate(s *settings, getenv func(string) string, named natsContext) diag.Diagnostics {
	var diags diag.Diagnostics
	s.credentials = credentials{
		file: m.CredentialsFile.ValueString(), text: m.Credentials.ValueString(),
		seedFile: m.NkeySeedFile.ValueString(), seed: m.NkeySeed.ValueString(),
		user: m.User.ValueString(), password: m.Password.ValueString(), token: m.Token.ValueString(),
	}
	c := &s.credentials
	switch {
	case c.user != "" || !m.Password.IsNull():
		var user, password, given string // as far as they are of the environment, and whether the block has one
		if c.user == "" {
			user = getenv("NATS_USER")
		}
		if m.Password.IsNull() {
			password = getenv("NATS_PASSWORD")
		} else {
			given = "perhaps empty"
		}
		s.from.credentials = origin(inBlock, setting{"user", c.user}, setting{"password", given})
		s.from.credentials = joined(s.from.credentials, origin(inEnvironment, setting{"NATS_USER", user}, setting{"NATS_PASSWORD", password}))
		c.user, c.password = cmp.Or(c.user, user), cmp.Or(c.password, password)
	case c.any():
		s.from.credentials = origin(inBlock, setting{"credentials_file", c.file}, setting{"credentials", c.text},
			setting{"nkey_seed_file", c.seedFile}, setting{"nkey_seed", c.seed}, setting{"token", c.token})
	default:
		diags.Append(s.credentialsFromEnvironment(getenv, named)...)
	}
	switch {
	case c.user == "" && (c.password != "" || !m.Password.IsNull()):
		diags.AddAttributeError(path.Root("password"), "Password without a user", fmt.Sprintf(
			"A password is given (%s), but no user. Set user, or NATS_USER.", s.from.credentials))
	case c.user != "" && c.password == "" && m.Password.IsNull() && s.from.credentials != named.origin():
		diags.AddAttributeError(path.Root("user"), "User without a password", fmt.Sprintf(
			"A user is given (%s), but no password. Set password, or NATS_PASSWORD; password = \"\" if the user really has none. "+
				"A token belongs into token, or NATS_TOKEN.", s.from.credentials))
	}
	return diags
}

// credentialsFromEnvironment finds those of the environment, else the context's.
func (s *settings) credentialsFromEnvironment(getenv func(string) string, named natsContext) diag.Diagnostics {
	var diags diag.Diagnostics
	s.credentials = credentials{
		file: getenv("NATS_CREDS"), seedFile: getenv("NATS_NKEY"), token: getenv("NATS_TOKEN"),
		user: getenv("NATS_USER"), password: getenv("NATS_PASSWORD"),
	}
	var kinds []string
	for _, v := range []string{"NATS_CREDS", "NATS_NKEY", "NATS_USER", "NATS_TOKEN"} {
		if getenv(v) != "" {
			kinds = append(kinds, v)
		}
	}
	c := s.credentials
	s.from.credentials = origin(inEnvironment, setting{"NATS_CREDS", c.file}, setting{"NATS_NKEY", c.seedFile},
		setting{"NATS_USER", c.user}, setting{"NATS_PASSWORD", c.password}, setting{"NATS_TOKEN", c.token})
	if len(kinds) > 1 {
		diags.AddError("More than one kind of NATS credentials",
			"The environment variables "+strings.Join(kinds, " and ")+" are set, and the provider block has no credentials of its own. "+
				"Unset all but one, or give the credentials in the provider block, which then wins.")
	}
	if !c.any() {
		if s.credentials = named.credentials(); s.credentials.any() {
			s.from.credentials = named.origin()
		}
	}
	return diags
}

// option is the credentials as an option of the connection. What is wrong with
// them by themselves is found here, where it is known where they came from, and
// not by the server.
func (c credentials) option(from string) (nats.Option, error) {
	switch {
	case c.file != "":
		file := expandHome(c.file, os.Getenv)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		if err := usable(text); err != nil {
			return nil, fmt.Errorf("%s: %s is not a credentials file: %w", from, file, err)
		}
		return nats.UserCredentials(file), nil
	case c.text != "":
		if err := usable([]byte(c.text)); err != nil {
			return nil, fmt.Errorf("%s: it is not the text of a credentials file: %w", from, err)
		}
		return nats.UserCredentialBytes([]byte(c.text)), nil
	case c.seedFile != "":
		option, err := nats.NkeyOptionFromSeed(expandHome(c.seedFile, os.Getenv))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		return option, nil
	case c.jwt != "":
		return nats.UserJWTAndSeed(c.jwt, c.seed), nil
	case c.seed != "":
		return nkeyOption(c.seed, from)
	case c.user != "":
		return nats.UserInfo(c.user, c.password), nil
	case c.token != "":
		return nats.Token(c.token), nil
	}
	return nil, nil
}

// usable tells whether a text is that of a credentials file. The client does not
// ask before it connects, and takes a text without a JWT for one as a whole, with
// the seed in it.
func usable(text []byte) error {
	if jwt, err := nkeys.ParseDecoratedJWT(text); err != nil || jwt == string(text) {
		return errors.Join(errors.New("it holds no user JWT"), err)
	}
	_, err := nkeys.ParseDecoratedUserNKey(text)
	return err
}

func nkeyOption(seed, from string) (nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(seed)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return nats.Nkey(public, pair.Sign), nil
}
