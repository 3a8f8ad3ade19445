terraform {
  required_providers {
    pcgroups = {
      source = "nats-pcgroups/pcgroups"
    }
  }
}

# From a secret store. Nothing of it gets into the state or the log.
variable "nats_credentials" {
  type      = string
  sensitive = true
  default   = null
}

provider "pcgroups" {
  servers     = ["tls://nats-1.example.com", "tls://nats-2.example.com"]
  credentials = var.nats_credentials

  tls = {
    ca_file = "ca.pem"
  }
}
