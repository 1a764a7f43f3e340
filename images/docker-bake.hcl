# Builds all images of a release: npm ci && npm run build && docker buildx bake --file images/docker-bake.hcl
variable "REGISTRY" { default = "ghcr.io/csi-sidecars" }
variable "VERSION" { default = "v0.0.0-dev" }
variable "REVISION" { default = "unknown" }
variable "SOURCE" { default = "unknown" }
# False in the release workflow, which pushes images without tags and tags them after they are signed.
variable "TAGGED" { default = true }

group "default" {
  targets = ["image"]
}

target "image" {
  name = "${app}${user}"
  matrix = {
    app  = ["attacher", "resizer", "provisioner", "snapshotter", "sidecars"]
    user = ["", "-nonroot"]
  }
  context   = "images/dist"
  target    = "${app}${user}"
  platforms = ["linux/amd64", "linux/arm64"]
  tags      = [TAGGED ? "${REGISTRY}/csi-${app}:${VERSION}${user}" : "${REGISTRY}/csi-${app}"]
  args = {
    VERSION  = VERSION
    REVISION = REVISION
    SOURCE   = SOURCE
    # All files get the time 0, so that a layer with equal files has an equal digest, and nodes need not pull it again.
    SOURCE_DATE_EPOCH = "0"
  }
}
