import type { Container } from '@csi-sidecars/kube-types'

/** The socket of a driver, as a path in a volume. Equal for containers that mount the volume at different paths. */
export interface SocketPlace {
  /** Undefined if no mount contains the path: the socket is in the container itself. */
  readonly volume: string | undefined
  readonly path: string
}

/** Returns the place of a socket, as the container sees it. `address` is a path or a `unix:` URL. */
export function socketPlace(address: string, { volumeMounts = [] }: Pick<Container, 'volumeMounts'>): SocketPlace {
  const path = address.replace(/^unix:(?:\/\/)?/, '')
  const mounts = volumeMounts
    .map(({ name, mountPath, subPath = '' }) => ({ name, subPath, folder: `${mountPath.replace(/\/{1,9}$/, '')}/` }))
    .filter(({ folder }) => path.startsWith(folder))
    .toSorted((a, b) => b.folder.length - a.folder.length)
  const [mount] = mounts
  if (mount === undefined) return { volume: undefined, path }
  const inside = path.slice(mount.folder.length)
  return { volume: mount.name, path: mount.subPath === '' ? inside : `${mount.subPath}/${inside}` }
}

/** Returns a text that is equal for equal places. */
export function placeKey({ volume, path }: SocketPlace): string {
  return `${volume ?? ''}:${path}`
}
