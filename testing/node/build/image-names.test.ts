import { expect, it } from '@jest/globals'
import { imageNames, registryRequest } from './image-names.ts'

const DIGEST = `sha256:${'0a'.repeat(32)}`

it.each([
  ['/v2/', { kind: 'version' }],
  [
    '/v2/sig-storage/csi-attacher/manifests/v4.11.0?ns=registry.k8s.io',
    { kind: 'manifest', repository: 'registry.k8s.io/sig-storage/csi-attacher', reference: 'v4.11.0' },
  ],
  [`/v2/pause/blobs/${DIGEST}?ns=registry.k8s.io`, { kind: 'blob', digest: DIGEST }],
  ['/v2/pause/blobs/..%2f..', undefined],
  ['/v2/pause/blobs/sha256:../../etc', undefined],
  ['/favicon.ico', undefined],
])('the registry understands %s', (url, expected) => {
  expect(registryRequest(url)).toEqual(expected)
})

it('our sidecars answer to the names of the Go sidecars only on request', () => {
  const upstream = 'registry.k8s.io/sig-storage/csi-resizer'
  const ours = 'ghcr.io/csi-sidecars/csi-resizer'
  expect(imageNames('1.36', 'go')).toMatchObject({ [upstream]: 'go-resizer', [ours]: 'resizer' })
  expect(imageNames('1.36', 'ours')).toMatchObject({ [upstream]: 'resizer', [ours]: 'resizer' })
})
