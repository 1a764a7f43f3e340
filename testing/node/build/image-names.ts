import type { KubernetesVersion } from '../command/options.ts'

/** The names of the sidecars that exist as a Go sidecar and as an image of ours. */
export const SIDECAR_NAMES = ['attacher', 'provisioner', 'resizer', 'snapshotter'] as const

export const OUR_REPOSITORY = 'ghcr.io/csi-sidecars'
export const OUR_TAG = 'v0.1.0'
export const GO_REPOSITORY = 'registry.k8s.io/sig-storage'
const TESTS = 'registry.k8s.io/e2e-test-images'
/** The image of the pods in our own runs: a shell. */
export const TEST_IMAGE = `${TESTS}/busybox:node`

/**
 * The images of the node's registry: the repository of an image, and the reference of the image in the layout. All
 * tags of a repository are the same image, so tests of another version of Kubernetes find it.
 */
export type ImageNames = Readonly<Record<string, string>>

/** The request of containerd for a manifest or for a blob. */
export type RegistryRequest =
  | { readonly kind: 'version' }
  | { readonly kind: 'manifest'; readonly repository: string; readonly reference: string }
  | { readonly kind: 'blob'; readonly digest: string }

/** Returns the images of a node. With `asUpstream: 'ours'` our sidecars answer to the names of the Go sidecars. */
export function imageNames(version: KubernetesVersion, asUpstream: 'go' | 'ours'): ImageNames {
  const both = SIDECAR_NAMES.flatMap((name) => [
    [`${OUR_REPOSITORY}/csi-${name}`, name],
    [`${GO_REPOSITORY}/csi-${name}`, asUpstream === 'ours' ? name : `go-${name}`],
  ])
  return Object.fromEntries([
    ...both,
    [`${OUR_REPOSITORY}/csi-sidecars`, 'sidecars'],
    [`${OUR_REPOSITORY}/driver`, 'driver'],
    [`${GO_REPOSITORY}/snapshot-controller`, 'snapshot-controller'],
    [`${GO_REPOSITORY}/hostpathplugin`, 'hostpath'],
    [`${GO_REPOSITORY}/csi-node-driver-registrar`, 'registrar'],
    ['registry.k8s.io/pause', 'pause'],
    [`${TESTS}/busybox`, 'busybox'],
    [`${TESTS}/agnhost`, `agnhost-${version}`],
    // The tests run only a shell or dd in these images.
    [`${TESTS}/nginx`, 'busybox'],
    [`${TESTS}/glibc-dns-testing`, 'tools'],
  ])
}

/** Reads the URL of a request. containerd names the host of the image in the parameter `ns`. */
export function registryRequest(url: string): RegistryRequest | undefined {
  const { pathname, searchParams } = new URL(url, 'http://registry')
  if (pathname === '/v2/' || pathname === '/v2') return { kind: 'version' }
  const [, name = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? []
  if (kind === 'blobs') return /^sha256:[0-9a-f]{64}$/.test(reference) ? { kind: 'blob', digest: reference } : undefined
  return kind === undefined
    ? undefined
    : { kind: 'manifest', repository: `${searchParams.get('ns')}/${name}`, reference }
}
