# Builds all images of a release: npm ci && npm run build && docker buildx bake --file images/docker-bake.hcl
variable "REGISTRY" { default = "ghcr.io/csi-sidecars" }
variable "VERSION" { default = "v0.0.0-dev" }
variable "REVISION" { default = "unknown" }
variable "SOURCE" { default = "unknown" }
# False in the release workflow, which pushes images without tags and tags them after they are signed.
variable "TAGGED" { default = true }

group "default" {
  targets = ["image", "ubi"]
}

target "image" {
  name = "${app}${user}"
  matrix = {
    app  = ["attacher", "resizer", "provisioner", "snapshotter", "sidecars"]
    user = ["", "-nonroot"]
  }
  inherits = ["common"]
  target   = "${app}${user}"
  tags     = [TAGGED ? "${REGISTRY}/csi-${app}:${VERSION}${user}" : "${REGISTRY}/csi-${app}"]
}

# The same images on Red Hat's base, for certification. Red Hat refuses root as the user of an image.
target "ubi" {
  name     = "${app}-ubi"
  matrix   = { app = ["attacher", "resizer", "provisioner", "snapshotter", "sidecars"] }
  inherits = ["common"]
  target   = "${app}-nonroot"
  tags     = [TAGGED ? "${REGISTRY}/csi-${app}:${VERSION}-ubi" : "${REGISTRY}/csi-${app}"]
  # ubi-micro lacks libstdc++.
  args = { BASE = "registry.access.redhat.com/ubi9/ubi-minimal:9.8@sha256:7fbeae18dc9476399f565e68255f602a3374ea8614ba3d14843565131a13ff93" }
}

target "common" {
  context = "images/dist"
  # The platforms of the Go sidecars but arm and arm/v7, for which the Node.js project has no image.
  platforms = ["linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"]
  args = {
    VERSION  = VERSION
    REVISION = REVISION
    SOURCE   = SOURCE
    # All files get the time 0, so that a layer with equal files has an equal digest, and nodes need not pull it again.
    SOURCE_DATE_EPOCH = "0"
  }
}
