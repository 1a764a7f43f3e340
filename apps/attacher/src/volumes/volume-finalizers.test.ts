import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type CachedVolume, volumeProjection } from '../caches/volume.ts'
import { apiError } from '../testing/api-error.ts'
import { ObjectApi } from '../testing/fake-api.ts'
import { csi, DRIVER, FINALIZER } from '../testing/views.ts'
import { VolumeFinalizers } from './volume-finalizers.ts'

const UID = '{"op":"test","path":"/metadata/uid","value":"u"}'
const ADD_FIRST = `patch pv1 [${UID},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["${FINALIZER}"]}]`
const ADD = `patch pv1 [${UID},{"op":"add","path":"/metadata/finalizers/-","value":"${FINALIZER}"}]`

const pv = (metadata: object = {}): PersistentVolume & { metadata: { name: string } } => ({
  metadata: { name: 'pv1', uid: 'u', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], csi: csi() },
})

let api: ObjectApi
let cached: CachedVolume | undefined
const project = volumeProjection(DRIVER)
const signal = new AbortController().signal
const volumes = {
  storeAnswer: (object: PersistentVolume) => {
    cached = project(object)
    return cached
  },
  store: { get: () => cached } as never,
}

beforeEach(() => {
  api = new ObjectApi()
  cached = project(pv())
  api.store(pv())
})

// The tested code only reads and patches, so the fake client has no other methods.
const client = (): KubeClient => api.client as KubeClient
const finalizers = (): VolumeFinalizers => new VolumeFinalizers({ api: client(), volumes, finalizer: FINALIZER })

describe('VolumeFinalizers', () => {
  it('the attacher adds its finalizer to a volume without finalizers', async () => {
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST])
    expect(cached?.finalizers).toEqual([FINALIZER])
  })

  it('the attacher adds its finalizer after foreign finalizers', async () => {
    cached = project(pv({ finalizers: ['a/b'] }))
    api.store(pv({ finalizers: ['a/b'] }))
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD])
  })

  it('several attachments of a volume add the finalizer of the volume with one write', async () => {
    const shared = finalizers()
    await Promise.all([shared.add('pv1', signal), shared.add('pv1', signal)])
    await shared.add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST])
  })

  it('the attacher reads a volume again if the cached finalizers are outdated', async () => {
    api.store(pv({ finalizers: ['a/b'] }))
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST, 'get pv1', ADD])
  })

  it('the attacher adds no finalizer if a fresh read of the volume shows it', async () => {
    api.store(pv({ finalizers: [FINALIZER] }))
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST, 'get pv1'])
  })

  it('the attacher adds its finalizer to a recreated volume that the cache does not show yet', async () => {
    api.store({ ...pv({ uid: 'v' }), spec: { csi: csi({ volumeHandle: 'handle-2' }) } } as never)
    const added = await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST, 'get pv1', ADD_FIRST.replace('"u"', '"v"')])
    expect([added?.uid, added?.finalizers, added?.spec?.csi?.volumeHandle]).toEqual(['v', [FINALIZER], 'handle-2'])
  })

  it('the attacher tries a finalizer patch three times if it conflicts, and once if the server refuses it', async () => {
    const patches = (): number => api.requests.filter((request) => request.startsWith('patch')).length
    api.fail('patch pv1', apiError(409, 'Conflict', 'changed'), 3)
    await expect(finalizers().add('pv1', signal)).rejects.toThrow('changed')
    expect(patches()).toBe(3)
    // The current finalizers lead to the same patch, so no other writer is the reason of the refusal.
    api.fail('patch pv1', apiError(422, 'Invalid', 'no'))
    await expect(finalizers().add('pv1', signal)).rejects.toThrow('no')
    expect(patches()).toBe(4)
    api.fail('patch pv1', apiError(403, 'Forbidden', 'not you'))
    await expect(finalizers().add('pv1', signal)).rejects.toThrow('not you')
    expect(patches()).toBe(5)
  })
})
