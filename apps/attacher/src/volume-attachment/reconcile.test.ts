import { CancelledError, FakeClock } from '@csi-sidecars/base'
import type { Outcome } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Attachment, attachmentProjection } from '../caches/attachment.ts'
import { volumeProjection } from '../caches/volume.ts'
import type { VolumeHolder } from '../persistent-volume/hold.ts'
import { apiError } from '../testing/api-error.ts'
import { FakeApi } from '../testing/fake-api.ts'
import { csi, DRIVER, FINALIZER, view } from '../testing/views.ts'
import { AttachmentMemory } from './memory.ts'
import { type AttachmentDeps, reconcileAttachment } from './reconcile.ts'

const CLAIM =
  'patch va1 {"metadata":{"annotations":{"csi.alpha.kubernetes.io/node-id":"node1-id"},"finalizers":["external-attacher/csi-example-com"]}}'
const UNCLAIM = 'patch va1 {"metadata":{"finalizers":null}}'
const TIME = '2023-11-14T22:13:20Z'

let api: FakeApi
let calls: string[]
let publish: (request: ControllerPublishVolumeRequest, signal: AbortSignal) => Promise<Record<string, string>>
let unpublish: (request: ControllerUnpublishVolumeRequest) => Promise<void>
let lost: boolean
let memory: AttachmentMemory
let log: ReturnType<typeof recordingLogger>
let signal: AbortController

beforeEach(() => {
  api = new FakeApi()
  calls = []
  lost = false
  publish = async () => ({})
  unpublish = async () => {}
  memory = new AttachmentMemory()
  log = recordingLogger()
  signal = new AbortController()
  api.put(va())
  api.put(pv())
})

function va(change: { metadata?: object; status?: object } = {}): VolumeAttachment & { metadata: { name: string } } {
  return {
    metadata: { name: 'va1', ...change.metadata },
    spec: { attacher: DRIVER, nodeName: 'node1', source: { persistentVolumeName: 'pv1' } },
    status: { attached: false, ...change.status },
  }
}

const CLAIMED = {
  finalizers: [FINALIZER],
  annotations: { 'csi.alpha.kubernetes.io/node-id': 'node1-id' },
}
const deleting = (change: object = {}): ReturnType<typeof va> =>
  va({ metadata: { ...CLAIMED, deletionTimestamp: TIME, ...change }, status: { attached: true } })

function pv(source: object = {}): PersistentVolume & { metadata: { name: string } } {
  return {
    metadata: { name: 'pv1', finalizers: [FINALIZER] },
    spec: { accessModes: ['ReadWriteOnce'], csi: csi(source) },
  }
}

function run(change: Partial<AttachmentDeps> = {}): Promise<Outcome> {
  const project = attachmentProjection(DRIVER)
  const stored = (key: string): Attachment | undefined => {
    const object = api.get(key) as VolumeAttachment | undefined
    return object && project(object)
  }
  const deps: AttachmentDeps = {
    // The controller reads and patches, nothing else.
    api: api.client as KubeClient,
    driver: {
      publish: (request) => {
        calls.push(`publish ${request.volumeId} ${request.nodeId} ${JSON.stringify(request.secrets)}`)
        return publish(request, signal.signal)
      },
      unpublish: (request) => {
        calls.push(`unpublish ${request.volumeId} ${request.nodeId} ${JSON.stringify(request.secrets)}`)
        return unpublish(request)
      },
      get lost() {
        return lost
      },
    },
    // The cache follows the server without delay.
    attachments: { learn: (object) => project(object), store: { get: stored } as never },
    holder: { hold: async (name: string) => void api.requests.push(`hold ${name}`) } as unknown as VolumeHolder,
    memory,
    observe: async (key, forced) => {
      const found = stored(key)
      const volume = api.get('pv1') as PersistentVolume | undefined
      return (
        found &&
        view({
          va: found,
          volume: { from: 'pv', name: 'pv1', pv: volume && volumeProjection(DRIVER)(volume) },
          forced,
          owesStatus: memory.owesStatus(key),
        })
      )
    },
    tellErrorCode: true,
    clock: new FakeClock(),
    log,
    ...change,
  }
  return reconcileAttachment('va1', deps, signal.signal)
}

describe('an attach', () => {
  it('claims, publishes and stores the context, in two writes', async () => {
    publish = async () => ({ device: '/dev/x' })
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.requests).toEqual([
      CLAIM,
      'patch va1/status {"status":{"attached":true,"attachmentMetadata":{"device":"/dev/x"}}}',
    ])
    expect(calls).toEqual(['publish handle-1 node1-id {}'])
    expect(log.lines.filter(({ level }) => level === 2).map(({ message }) => message)).toEqual([
      'Attaching',
      'Attached',
    ])
  })

  it('publishes only once the claim is stored', async () => {
    api.fail('patch va1 ', apiError(500, 'InternalError', 'etcd is away'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(calls).toEqual([])
    expect(api.requests.at(-1)).toBe(
      `patch va1/status {"status":{"attachError":{"message":"could not save VolumeAttachment: etcd is away","time":"${TIME}"}}}`,
    )
  })

  it('holds the volume before anything else', async () => {
    api.put({ ...pv(), metadata: { name: 'pv1', finalizers: [] } })
    await run()
    expect(api.requests.slice(0, 2)).toEqual(['hold pv1', CLAIM])
  })

  it('reads the secret for the call, before the claim', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.put({ metadata: { name: 'creds' }, data: { key: Buffer.from('word').toString('base64') } } as never)
    await run()
    expect(api.requests.slice(0, 2)).toEqual(['get creds', CLAIM])
    expect(calls).toEqual(['publish handle-1 node1-id {"key":"word"}'])
  })

  it('names the secret that is missing and claims nothing', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.fail('get creds', apiError(404, 'NotFound', 'secrets "creds" not found'))
    await run()
    expect(api.requests).toEqual([
      'get creds',
      `patch va1/status {"status":{"attachError":{"message":"failed to load secret \\"ns/creds\\": secrets \\"creds\\" not found","time":"${TIME}"}}}`,
    ])
  })

  it('stores the error of the driver with its code', async () => {
    publish = () => Promise.reject(new RpcError(CODES.ResourceExhausted, 'node is full'))
    const outcome = await run()
    expect(outcome).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to attach: rpc error: code = ResourceExhausted desc = node is full'),
    })
    expect(api.requests.at(-1)).toBe(
      `patch va1/status {"status":{"attachError":{"message":"rpc error: code = ResourceExhausted desc = node is full","time":"${TIME}","errorCode":8}}}`,
    )
  })

  it('leaves the code out where the gate is off', async () => {
    publish = () => Promise.reject(new RpcError(CODES.Internal, 'x'))
    await run({ tellErrorCode: false })
    expect(api.requests.at(-1)).not.toContain('errorCode')
  })

  it('comes back when the driver has said to', async () => {
    publish = () => Promise.reject(new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }))
    expect(await run()).toMatchObject({ kind: 'retryAfter', ms: 3_000 })
  })

  it('clears the error of an earlier try with the success', async () => {
    api.put(va({ metadata: CLAIMED, status: { attachError: { message: 'x', time: TIME } } }))
    await run()
    expect(api.requests).toEqual(['patch va1/status {"status":{"attached":true,"attachError":null}}'])
  })

  it('is no attach error when only the status cannot be stored', async () => {
    api.fail('patch va1/status', apiError(500, 'InternalError', 'no'))
    expect(await run()).toMatchObject({ kind: 'retry', cause: new Error('failed to mark as attached: no') })
    expect(api.requests.filter((request) => request.includes('attachError'))).toEqual([])
  })

  it('is no attach error when the API server asks for patience', async () => {
    api.fail('patch va1 ', apiError(429, 'TooManyRequests'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.requests).toEqual([CLAIM])
  })

  it('is no attach error when the driver went away, and waits for it', async () => {
    publish = () => {
      lost = true
      return Promise.reject(new RpcError(CODES.Unavailable, 'connection to the CSI driver lost'))
    }
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.requests).toEqual([CLAIM])
    expect([...memory.waitingFor({ on: 'driver' })]).toEqual(['va1'])
  })

  it('writes nothing when it is called off', async () => {
    publish = () => {
      signal.abort(new CancelledError('the lease is lost'))
      return Promise.reject(new RpcError(CODES.Canceled, 'context canceled'))
    }
    await expect(run()).rejects.toThrow('the lease is lost')
    expect(api.requests).toEqual([CLAIM])
  })

  it('goes on when the error cannot be stored', async () => {
    publish = () => Promise.reject(new RpcError(CODES.Internal, 'x'))
    api.fail('patch va1/status', apiError(422, 'Invalid', 'too long'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    const line = { level: 2, message: 'Failed to save attach error to VolumeAttachment', pairs: { err: 'too long' } }
    expect(log.lines).toContainEqual(expect.objectContaining({ ...line, pairs: expect.objectContaining(line.pairs) }))
  })

  it('remembers the volume that it waits for until it runs again', async () => {
    api.objects.delete('pv1')
    await run()
    expect([...memory.waitingFor({ on: 'volume', name: 'pv1' })]).toEqual(['va1'])
    api.put(pv())
    await run()
    expect([...memory.waitingFor({ on: 'volume', name: 'pv1' })]).toEqual([])
  })

  it('has nothing to do for one that is gone, and for one that is attached', async () => {
    api.objects.delete('va1')
    expect(await run()).toEqual({ kind: 'settled' })
    api.put(va({ metadata: CLAIMED, status: { attached: true } }))
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.requests).toEqual([])
  })

  it('uses up a force mark', async () => {
    api.put(va({ metadata: CLAIMED, status: { attached: true } }))
    memory.force('va1')
    await run()
    await run()
    expect(calls).toHaveLength(1)
    expect(api.requests).toEqual(['patch va1/status {}'])
  })

  it('refuses a secret that is no text, once the claim is stored', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.put({ metadata: { name: 'creds' }, data: { key: Buffer.from([0xff]).toString('base64') } } as never)
    await run()
    expect(calls).toEqual([])
    expect(api.requests.at(-1)).toContain('"errorCode":13')
  })
})

describe('a detach', () => {
  beforeEach(() => api.put(deleting()))

  it('unpublishes and gives up the claim, in one write', async () => {
    expect(await run()).toEqual({ kind: 'settled' })
    expect(calls).toEqual(['unpublish handle-1 node1-id {}'])
    expect(api.requests).toEqual([UNCLAIM])
  })

  it('tells the status where a foreign finalizer keeps the object', async () => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    await run()
    expect(api.requests).toEqual([
      'patch va1 {"metadata":{"finalizers":["a/b"]}}',
      'patch va1/status {"status":{"attached":false}}',
    ])
  })

  it('whose status cannot be told says so, and tells it later without another unpublish', async () => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    api.fail('patch va1/status', apiError(500, 'InternalError', 'no'))
    expect(await run()).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to detach: could not mark as detached: no'),
    })
    expect(await run()).toEqual({ kind: 'settled' })
    expect(await run()).toEqual({ kind: 'settled' })
    expect(calls).toHaveLength(1)
    expect(api.requests).toEqual([
      'patch va1 {"metadata":{"finalizers":["a/b"]}}',
      'patch va1/status {"status":{"attached":false}}',
      `patch va1/status {"status":{"detachError":{"message":"could not mark as detached: no","time":"${TIME}"}}}`,
      'patch va1/status {"status":{"attached":false,"detachError":null}}',
    ])
  })

  it.each([
    { name: 'an answer that it is gone', error: apiError(404, 'NotFound'), requests: 3 },
    { name: 'its end', error: undefined, requests: 2 },
  ])('owes no status after $name', async ({ error, requests }) => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    api.fail('patch va1/status', apiError(429, 'TooManyRequests'))
    await run()
    if (error === undefined) api.objects.delete('va1')
    else api.fail('patch va1/status', error)
    expect(await run()).toEqual({ kind: 'settled' })
    expect(memory.owesStatus('va1')).toBe(false)
    expect(api.requests).toHaveLength(requests)
  })

  it('does not mind that the object went in between', async () => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    api.fail('patch va1/status', apiError(404, 'NotFound'))
    expect(await run()).toEqual({ kind: 'settled' })
  })

  it('stores the error without a code and keeps the claim', async () => {
    unpublish = () => Promise.reject(new RpcError(CODES.NotFound, 'no such volume'))
    expect(await run()).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to detach: rpc error: code = NotFound desc = no such volume'),
    })
    expect(api.requests).toEqual([
      `patch va1/status {"status":{"detachError":{"message":"rpc error: code = NotFound desc = no such volume","time":"${TIME}"}}}`,
    ])
  })

  it('unpublishes again when the claim could not be given up', async () => {
    api.fail('patch va1 ', apiError(500, 'InternalError', 'no'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.requests.at(-1)).toContain('could not mark as detached: no')
    await run()
    expect(calls).toHaveLength(2)
    expect(api.requests.at(-1)).toBe(UNCLAIM)
  })

  it('writes nothing for a forced one that is neither claimed nor attached', async () => {
    api.put(va({ metadata: { deletionTimestamp: TIME } }))
    memory.force('va1')
    await run()
    expect(calls).toHaveLength(1)
    expect(api.requests).toEqual([])
  })

  it('sets back the status of a forced one that only says attached', async () => {
    api.put(va({ metadata: { deletionTimestamp: TIME }, status: { attached: true } }))
    memory.force('va1')
    await run()
    expect(api.requests).toEqual(['patch va1/status {"status":{"attached":false}}'])
  })
})
