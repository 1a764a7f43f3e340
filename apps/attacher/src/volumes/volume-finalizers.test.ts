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
  learn: (object: PersistentVolume) => {
    cached = project(object)
    return cached
  },
  store: { get: () => cached } as never,
}

beforeEach(() => {
  api = new ObjectApi()
  cached = project(pv())
  api.put(pv())
})

// The tested code only reads and patches, so the fake client has no other methods.
const client = (): KubeClient => api.client as KubeClient
const finalizers = (): VolumeFinalizers => new VolumeFinalizers({ api: client(), volumes, finalizer: FINALIZER })

describe('VolumeFinalizers', () => {
  it('`VolumeFinalizers` adds our finalizer to a volume without finalizers', async () => {
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST])
    expect(cached?.finalizers).toEqual([FINALIZER])
  })

  it('`VolumeFinalizers` adds our finalizer after foreign finalizers', async () => {
    cached = project(pv({ finalizers: ['a/b'] }))
    api.put(pv({ finalizers: ['a/b'] }))
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD])
  })

  it('`VolumeFinalizers` writes once for concurrent attachments, and not again for later attachments', async () => {
    const shared = finalizers()
    await Promise.all([shared.add('pv1', signal), shared.add('pv1', signal)])
    await shared.add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST])
  })

  it('`VolumeFinalizers` reads the volume again if its finalizers differ from the cached ones', async () => {
    api.put(pv({ finalizers: ['a/b'] }))
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST, 'get pv1', ADD])
  })

  it('`VolumeFinalizers` writes nothing if the fresh read shows our finalizer', async () => {
    api.put(pv({ finalizers: [FINALIZER] }))
    await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST, 'get pv1'])
  })

  it('`VolumeFinalizers` returns the recreated volume with our finalizer if the cache lags', async () => {
    api.put({ ...pv({ uid: 'v' }), spec: { csi: csi({ volumeHandle: 'handle-2' }) } } as never)
    const added = await finalizers().add('pv1', signal)
    expect(api.requests).toEqual([ADD_FIRST, 'get pv1', ADD_FIRST.replace('"u"', '"v"')])
    expect([added?.uid, added?.finalizers, added?.spec?.csi?.volumeHandle]).toEqual(['v', [FINALIZER], 'handle-2'])
  })

  it('`VolumeFinalizers` fails after the API server refuses three patches, and at once after any other error', async () => {
    api.fail('patch pv1', apiError(422, 'Invalid', 'no'), 3)
    await expect(finalizers().add('pv1', signal)).rejects.toThrow('no')
    expect(api.requests.filter((request) => request.startsWith('patch'))).toHaveLength(3)
    api.fail('patch pv1', apiError(403, 'Forbidden', 'not you'))
    await expect(finalizers().add('pv1', signal)).rejects.toThrow('not you')
    expect(api.requests.filter((request) => request.startsWith('patch'))).toHaveLength(4)
  })
})
