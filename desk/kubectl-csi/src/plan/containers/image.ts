/** The parts of the name of a container image. */
export interface ImageName {
  /** The registry and the path, such as `registry.k8s.io/sig-storage/csi-attacher`. */
  readonly repository: string
  /** The last part of the path, such as `csi-attacher`. */
  readonly baseName: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

/** Splits the name of an image. A colon before the last slash belongs to the port of a registry. */
export function parseImage(text: string): ImageName {
  const [name = '', digest] = text.split('@')
  const slash = name.lastIndexOf('/')
  const colon = name.indexOf(':', slash + 1)
  const repository = colon < 0 ? name : name.slice(0, colon)
  return {
    repository,
    baseName: repository.slice(slash + 1),
    tag: colon < 0 ? undefined : name.slice(colon + 1),
    digest,
  }
}
