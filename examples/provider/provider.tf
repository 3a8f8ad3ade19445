terraform {
  required_providers {
    pcgroups = {
      source = "nats-pcgroups/pcgroups"
    }
  }
}

# Without arguments the provider takes the servers from NATS_URL and the
# credentials from NATS_CREDS, NATS_NKEY, NATS_USER with NATS_PASSWORD, or
# NATS_TOKEN; or all of it from the nats CLI's context named by NATS_CONTEXT.
provider "pcgroups" {
  servers = ["nats://127.0.0.1:4222"]

  connect_timeout = "5s"
  request_timeout = "10s"
}
