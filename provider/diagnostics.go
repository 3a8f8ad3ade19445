package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/nats-io/nats.go"

	"github.com/nats-pcgroups/terraform-provider-pcgroups/pcgroups"
)

// explain turns the error of an operation into what the user is told: what
// failed, on which group, why, and what to do next. complaint is what the server
// said about the connection, if anything.
func explain(group groupRef, verb string, err error, complaint string) diag.Diagnostic {
	cause := reason(err)
	verb = cmp.Or(group.doing, verb)
	about := fmt.Sprintf("Could not %s %v", verb, group)

	var unknown *unknownSettingsError
	var connect *connectError
	var setting *settingError
	var overtime *overtimeError
	var stale *staleError
	var spoilt *spoiltError
	var full *noRoomError
	var mapped *mappedError
	var config *pcgroups.ConfigError
	switch {
	case errors.As(err, &unknown):
		return diag.NewErrorDiagnostic("The NATS servers are not known yet",
			fmt.Sprintf("%s: %v. To go on, apply what those values come from first, with -target, or plan with -refresh=false.", about, unknown))
	case errors.As(err, &connect):
		return explainConnect(connect)
	case errors.As(err, &setting):
		return diag.NewErrorDiagnostic("Connection settings can not be used", strings.TrimPrefix(strings.TrimSuffix(setting.reason, "."), "nats: ")+".")
	case errors.As(err, &overtime):
		return diag.NewErrorDiagnostic("Timed out", fmt.Sprintf("%s: %v.%s%s", about, overtime, libraryReason(err), said(complaint)))
	case errors.Is(err, context.Canceled):
		return diag.NewErrorDiagnostic("Cancelled", about+": the run was cancelled."+libraryReason(err))
	case errors.As(err, &stale):
		return diag.NewErrorDiagnostic("Consumer group changed since the plan",
			fmt.Sprintf("The %v %v. Nothing was written. Run terraform plan again to decide about the group as it is now.", group, stale))
	case errors.As(err, &spoilt):
		return diag.NewErrorDiagnostic("Work-queue stream can not be repaired", spoilt.story)
	case errors.As(err, &full), errors.As(err, &mapped):
		return diag.NewErrorDiagnostic("Member can not be added", fmt.Sprintf("%s: %s.", about, cause))
	case errors.As(err, &config):
		return diag.NewAttributeErrorDiagnostic(group.attributePath(config.Field), "Invalid consumer group", fmt.Sprintf("%s: %s.", about, config.Reason))
	case errors.Is(err, pcgroups.ErrGroupExists):
		return diag.NewErrorDiagnostic("Consumer group exists already", fmt.Sprintf(
			"The %v exists already and was left as it is. To manage it with this resource, import it:\n\n"+
				"import {\n  to = pcgroups_%s_group.NAME # this resource's address\n  id = %q\n}", group, group.kind, formatImportID(group.stream, group.name)))
	case errors.Is(err, pcgroups.ErrNotGroupStream):
		return diag.NewAttributeErrorDiagnostic(group.attributePath("group"), "The work-queue stream's name is taken", fmt.Sprintf("%s: %s.", about, cause))
	case errors.Is(err, pcgroups.ErrGroupNotFound):
		return diag.NewErrorDiagnostic("Consumer group not found", fmt.Sprintf(
			"%s: consumer group not found. Check its stream and its name; the data source pcgroups_groups lists those that there are. If Terraform creates it too, refer to that resource here so that it comes first.", about))
	case errors.Is(err, pcgroups.ErrStreamNotFound):
		return diag.NewAttributeErrorDiagnostic(path.Root("stream"), "Stream not found", fmt.Sprintf(
			"%s: there is no stream %q in this account. Create it first, or check its name. If Terraform creates it too, refer to that resource here so that it comes first.", about, group.stream))
	case errors.Is(err, pcgroups.ErrJetStreamDisabled):
		return diag.NewErrorDiagnostic("JetStream is not enabled", fmt.Sprintf(
			"%s: the server is there but JetStream is not. Enable JetStream on the server and for this account, or check that the servers are the intended ones. (%s)", about, cause))
	case errors.Is(err, pcgroups.ErrServerTooOld):
		return diag.NewErrorDiagnostic("The NATS server is too old", fmt.Sprintf("%s: %s.", about, cause))
	case errors.Is(err, pcgroups.ErrLegacyConfig):
		return diag.NewErrorDiagnostic("Consumer group in a legacy format", fmt.Sprintf("%s: %s.", about, cause))
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return diag.NewErrorDiagnostic("No answer from JetStream", fmt.Sprintf(
			"%s: a request was not answered within the provider's request_timeout.%s", about, said(complaint)))
	}
	return diag.NewErrorDiagnostic(fmt.Sprintf("Consumer group: %s failed", verb), fmt.Sprintf("%s: %s.%s", about, cause, said(complaint)))
}

func explainConnect(e *connectError) diag.Diagnostic {
	detail := fmt.Sprintf("Tried %s (%s): %s.\n\n", e.servers, e.from.servers, strings.TrimPrefix(e.reason, "nats: "))
	switch {
	case errors.Is(e.err, nats.ErrAuthorization), errors.Is(e.err, nats.ErrAuthExpired), errors.Is(e.err, nats.ErrAuthRevoked),
		errors.Is(e.err, nats.ErrAccountAuthExpired), errors.Is(e.err, nats.ErrPermissionViolation):
		if from := e.from.credentials; from != "" {
			return diag.NewErrorDiagnostic("NATS refused the credentials", detail+"The credentials are "+from+". Check them there, or give others in the provider block, which win.")
		}
		return diag.NewErrorDiagnostic("NATS refused the credentials", detail+"There were none, except what the URL holds. "+
			"Set credentials_file, credentials, nkey_seed_file, nkey_seed, user with password, or token in the provider block; or "+
			"one of the environment variables NATS_CREDS, NATS_NKEY, NATS_USER with NATS_PASSWORD, and NATS_TOKEN; or context.")
	case errors.Is(e.err, nats.ErrNoServers), errors.Is(e.err, nats.ErrTimeout):
		return diag.NewErrorDiagnostic("Cannot reach NATS", detail+
			"Check that a server runs there, that the name or address and the port are right, and that no firewall is in between.")
	}
	for _, used := range []setting{{"credentials", e.from.credentials}, {"authorities", e.from.ca}, {"client certificate", e.from.cert}} {
		if used.value != "" {
			detail += fmt.Sprintf("The %s: %s. ", used.name, used.value)
		}
	}
	return diag.NewErrorDiagnostic("Cannot connect to NATS", detail+"Check servers, tls and the credentials in the provider block.")
}

// reason is the error without the library's own preamble, which repeats the
// operation and the group.
func reason(err error) string {
	var e *pcgroups.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return strings.TrimSuffix(err.Error(), ".")
}

// sentence is an error as a sentence of its own.
func sentence(err error) string {
	first, size := utf8.DecodeRuneInString(err.Error())
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(err.Error()[size:], ".") + "."
}

// libraryReason adds what the library made of an interruption, in particular
// that something was left behind.
func libraryReason(err error) string {
	var e *pcgroups.Error
	if errors.As(err, &e) {
		return fmt.Sprintf(" (%v)", e.Err)
	}
	return ""
}

func said(complaint string) string {
	if complaint == "" {
		return ""
	}
	return fmt.Sprintf(" The server says: %s.", strings.TrimPrefix(complaint, "nats: "))
}

// attributePath finds the attribute for a field of the library's configuration.
func (g groupRef) attributePath(field string) path.Path {
	switch field {
	case "group":
		return path.Root(cmp.Or(g.attribute, "name"))
	case "member":
		return path.Root("members")
	case "partitioning_wildcards":
		return path.Root("partitioning_filters")
	case "max_buffered_msg":
		return path.Root("max_buffered_msgs")
	}
	return path.Root(field)
}
