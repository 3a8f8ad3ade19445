# The stream is managed by the provider nats-io/jetstream, the group on it by
# this one. The transform that a static group needs comes from a function. The
# first plan warns that the stream does not exist yet: here this very plan makes it.
terraform {
  required_providers {
    jetstream = { source = "nats-io/jetstream" }
    pcgroups  = { source = "nats-pcgroups/pcgroups" }
  }
}

variable "nats_url" {
  type    = string
  default = "nats://127.0.0.1:4222"
}

provider "jetstream" {
  servers = var.nats_url
}

provider "pcgroups" {
  servers = [var.nats_url]
}

resource "jetstream_stream" "devices" {
  name     = "DEVICES"
  subjects = ["devices.*.events"]
  storage  = "file"

  subject_transform {
    source      = local.filter
    destination = local.destination
  }
}
