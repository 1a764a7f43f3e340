import { CancelledError, FakeClock } from '@csi-sidecars/base'
import type { Cause, Outcome } from '@csi-sidecars/controller'
import { type RecordingRun, recordingRun } from '@csi-sidecars/controller/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Attachment, attachmentProjection } from '../caches/attachment.ts'
import { type Volume, volumeProjection } from '../caches/volume.ts'
import type { VolumeFinalizers } from '../persistent-volume/add-finalizer.ts'
import { apiError } from '../testing/api-error.ts'
import { FakeApi } from '../testing/fake-api.ts'
import { csi, DRIVER, FINALIZER, view } from '../testing/views.ts'
import { AttachmentMemory } from './memory.ts'
import { reconcileAttachment } from './reconcile.ts'
import type { AttachmentDeps } from './run.ts'

const ADD_FINALIZER =
  'patch va1 {"metadata":{"uid":"va1-uid","annotations":{"csi.alpha.kubernetes.io/node-id":"node1-id"},"finalizers":["external-attacher/csi-example-com"]}}'
const REMOVE_FINALIZER = 'patch va1 {"metadata":{"uid":"va1-uid","finalizers":null}}'
const TIME = '2023-11-14T22:13:20Z'

let api: FakeApi
let calls: string[]
let publish: (request: ControllerPublishVolumeRequest, signal: AbortSignal) => Promise<Record<string, string>>
let unpublish: (request: ControllerUnpublishVolumeRequest) => Promise<void>
let lost: boolean
let memory: AttachmentMemory
/** What the cache holds instead of what the server does. */
let late: Map<string, VolumeAttachment | undefined>
/** What the write of our finalizer to the volume returns. */
let held: () => Volume | undefined
let woken: Cause[]
let enqueued: string[]
let log: ReturnType<typeof recordingLogger>
let signal: AbortController
/** The last run. */
let own: RecordingRun

beforeEach(() => {
  api = new FakeApi()
  calls = []
  lost = false
  publish = async () => ({})
  unpublish = async () => {}
  memory = new AttachmentMemory()
  late = new Map()
  held = () => projectVolume(pv())
  woken = []
  enqueued = []
  log = recordingLogger()
  signal = new AbortController()
  api.put(va())
  api.put(pv())
})

function va(change: { metadata?: object; status?: object } = {}): VolumeAttachment & { metadata: { name: string } } {
  return {
    metadata: { name: 'va1', uid: 'va1-uid', ...change.metadata },
    spec: { attacher: DRIVER, nodeName: 'node1', source: { persistentVolumeName: 'pv1' } },
    status: { attached: false, ...change.status },
  }
}

const FINALIZED = {
  finalizers: [FINALIZER],
  annotations: { 'csi.alpha.kubernetes.io/node-id': 'node1-id' },
}
const deleting = (change: object = {}): ReturnType<typeof va> =>
  va({ metadata: { ...FINALIZED, deletionTimestamp: TIME, ...change }, status: { attached: true } })

function pv(source: object = {}): PersistentVolume & { metadata: { name: string } } {
  return {
    metadata: { name: 'pv1', uid: 'pv1-uid', finalizers: [FINALIZER] },
    spec: { accessModes: ['ReadWriteOnce'], csi: csi(source) },
  }
}

const project = attachmentProjection(DRIVER)
const projectVolume = volumeProjection(DRIVER)

/** What the cache holds: as the server does, but for what a test has made it see late. */
function stored(key: string): Attachment | undefined {
  const object = (late.has(key) ? late.get(key) : api.get(key)) as VolumeAttachment | undefined
  return object?.spec && project(object)
}

function storedVolume(): Volume | undefined {
  const pv = api.get('pv1') as PersistentVolume | undefined
  return pv && projectVolume(pv)
}

function run(change: Partial<AttachmentDeps> = {}, key = 'va1'): Promise<Outcome> {
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
    attachments: {
      learn: (object) => project(object),
      store: {
        get: stored,
        values: () => [...new Set([...api.objects.keys(), ...late.keys()])].flatMap((name) => stored(name) ?? []),
      } as never,
    },
    volumes: { get: storedVolume },
    finalizers: {
      add: async (name: string) => {
        api.requests.push(`hold ${name}`)
        return held()
      },
    } as unknown as VolumeFinalizers,
    finalizer: FINALIZER,
    memory,
    observe: async (name, forced) => {
      const found = stored(name)
      return (
        found &&
        view({
          va: found,
          volume: { from: 'pv', name: 'pv1', pv: storedVolume() },
          forced,
          statusPending: memory.statusPending(name),
          published: [...memory.published.ofAttachment(found.uid)],
        })
      )
    },
    isPlaced: () => true,
    wake: (cause) => woken.push(cause),
    enqueue: (each) => enqueued.push(each),
    recordErrorCode: true,
    clock: new FakeClock(),
    log,
    ...change,
  }
  own = recordingRun(signal.signal)
  return reconcileAttachment(key, deps, own)
}

describe('an attach', () => {
  it('adds the finalizer, publishes and stores the context, in two writes', async () => {
    publish = async () => ({ device: '/dev/x' })
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.requests).toEqual([
      ADD_FINALIZER,
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":true,"attachmentMetadata":{"device":"/dev/x"}}}',
    ])
    expect(calls).toEqual(['publish handle-1 node1-id {}'])
    expect(log.lines.filter(({ level }) => level === 2).map(({ message }) => message)).toEqual([
      'Attaching',
      'Attached',
    ])
  })

  it('publishes only once the finalizer is stored', async () => {
    api.fail('patch va1 ', apiError(500, 'InternalError', 'etcd is away'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(calls).toEqual([])
    expect(api.requests.at(-1)).toBe(
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":{"message":"could not save VolumeAttachment: etcd is away","time":"${TIME}"}}}`,
    )
  })

  it('holds the volume before anything else', async () => {
    api.put({ ...pv(), metadata: { name: 'pv1', uid: 'pv1-uid', finalizers: [] } })
    await run()
    expect(api.requests.slice(0, 2)).toEqual(['hold pv1', ADD_FINALIZER])
  })

  it('reads the secret for the call, before the finalizer', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.put({ metadata: { name: 'creds' }, data: { key: Buffer.from('word').toString('base64') } } as never)
    await run()
    expect(api.requests.slice(0, 2)).toEqual(['get creds', ADD_FINALIZER])
    expect(calls).toEqual(['publish handle-1 node1-id {"key":"word"}'])
  })

  it('names the secret that is missing and adds no finalizer', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.fail('get creds', apiError(404, 'NotFound', 'secrets "creds" not found'))
    await run()
    expect(api.requests).toEqual([
      'get creds',
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":{"message":"failed to load secret \\"ns/creds\\": secrets \\"creds\\" not found","time":"${TIME}"}}}`,
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
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attachError":{"message":"rpc error: code = ResourceExhausted desc = node is full","time":"${TIME}","errorCode":8}}}`,
    )
  })

  it('leaves the code out where the gate is off', async () => {
    publish = () => Promise.reject(new RpcError(CODES.Internal, 'x'))
    await run({ recordErrorCode: false })
    expect(api.requests.at(-1)).not.toContain('errorCode')
  })

  it('comes back when the driver has said to', async () => {
    publish = () => Promise.reject(new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }))
    expect(await run()).toMatchObject({ kind: 'retry', afterMs: 3_000 })
  })

  it('clears the error of an earlier try with the success', async () => {
    api.put(va({ metadata: FINALIZED, status: { attachError: { message: 'x', time: TIME } } }))
    await run()
    expect(api.requests).toEqual([
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":true,"attachError":null}}',
    ])
  })

  it('is no attach error when only the status cannot be stored', async () => {
    api.fail('patch va1/status', apiError(500, 'InternalError', 'no'))
    expect(await run()).toMatchObject({ kind: 'retry', cause: new Error('failed to mark as attached: no') })
    expect(api.requests.filter((request) => request.includes('attachError'))).toEqual([])
  })

  it('is no attach error when the API server asks for patience', async () => {
    api.fail('patch va1 ', apiError(429, 'TooManyRequests'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.requests).toEqual([ADD_FINALIZER])
  })

  it('is no attach error when the driver went away', async () => {
    publish = () => {
      lost = true
      return Promise.reject(new RpcError(CODES.Unavailable, 'connection to the CSI driver lost'))
    }
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.requests).toEqual([ADD_FINALIZER])
  })

  it('writes nothing when it is called off', async () => {
    publish = () => {
      signal.abort(new CancelledError('the lease is lost'))
      return Promise.reject(new RpcError(CODES.Canceled, 'context canceled'))
    }
    await expect(run()).rejects.toThrow('the lease is lost')
    expect(api.requests).toEqual([ADD_FINALIZER])
  })

  it('goes on when the error cannot be stored', async () => {
    publish = () => Promise.reject(new RpcError(CODES.Internal, 'x'))
    api.fail('patch va1/status', apiError(422, 'Invalid', 'too long'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    const line = { level: 2, message: 'Failed to save attach error to VolumeAttachment', pairs: { err: 'too long' } }
    expect(log.lines).toContainEqual(expect.objectContaining({ ...line, pairs: expect.objectContaining(line.pairs) }))
  })

  it('waits for the volume that is missing until a run finds it', async () => {
    api.objects.delete('pv1')
    await run()
    expect(own.causes).toEqual([{ on: 'volume', name: 'pv1' }])
    api.put(pv())
    await run()
    expect(own.causes).toEqual([])
  })

  it('has nothing to do for one that is gone, and for one that is attached', async () => {
    api.objects.delete('va1')
    expect(await run()).toEqual({ kind: 'settled' })
    api.put(va({ metadata: FINALIZED, status: { attached: true } }))
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.requests).toEqual([])
  })

  it('uses up a force mark', async () => {
    api.put(va({ metadata: FINALIZED, status: { attached: true } }))
    memory.force('va1')
    await run()
    await run()
    expect(calls).toHaveLength(1)
    expect(api.requests).toEqual(['patch va1/status {"metadata":{"uid":"va1-uid"}}'])
  })

  it('refuses a secret that is no text, once the finalizer is stored', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.put({ metadata: { name: 'creds' }, data: { key: Buffer.from([0xff]).toString('base64') } } as never)
    await run()
    expect(calls).toEqual([])
    expect(api.requests.at(-1)).toContain('"errorCode":13')
  })
})

describe('a detach', () => {
  beforeEach(() => api.put(deleting()))

  it('unpublishes and removes the finalizer, in one write', async () => {
    expect(await run()).toEqual({ kind: 'settled' })
    expect(calls).toEqual(['unpublish handle-1 node1-id {}'])
    expect(api.requests).toEqual([REMOVE_FINALIZER])
  })

  it('writes the status where a foreign finalizer keeps the object', async () => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    await run()
    expect(api.requests).toEqual([
      'patch va1 {"metadata":{"uid":"va1-uid","finalizers":["a/b"]}}',
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false}}',
    ])
  })

  it('whose status cannot be written says so, and writes it later without another unpublish', async () => {
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
      'patch va1 {"metadata":{"uid":"va1-uid","finalizers":["a/b"]}}',
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false}}',
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"detachError":{"message":"could not mark as detached: no","time":"${TIME}"}}}`,
      'patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false,"detachError":null}}',
    ])
  })

  it('has no pending status when it went meanwhile', async () => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    api.fail('patch va1/status', apiError(429, 'TooManyRequests'))
    await run()
    expect(memory.statusPending('va1')).toBe(true)
    api.objects.delete('va1')
    expect(await run()).toEqual({ kind: 'settled' })
    expect(memory.statusPending('va1')).toBe(false)
    expect(api.requests).toHaveLength(2)
  })

  it('has no pending status after an answer that it is gone', async () => {
    api.put(deleting({ finalizers: ['a/b', FINALIZER] }))
    unpublish = async () => {
      late.set('va1', deleting({ finalizers: ['a/b', FINALIZER] }))
    }
    const gone = apiError(404, 'NotFound')
    api.fail('patch va1/status', gone)
    api.fail('get va1', gone)
    expect(await run()).toEqual({ kind: 'settled' })
    expect(memory.statusPending('va1')).toBe(false)
  })

  it('stores the error without a code and keeps the finalizer', async () => {
    unpublish = () => Promise.reject(new RpcError(CODES.NotFound, 'no such volume'))
    expect(await run()).toMatchObject({
      kind: 'retry',
      cause: new Error('failed to detach: rpc error: code = NotFound desc = no such volume'),
    })
    expect(api.requests).toEqual([
      `patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"detachError":{"message":"rpc error: code = NotFound desc = no such volume","time":"${TIME}"}}}`,
    ])
  })

  it('unpublishes again when the finalizer could not be removed', async () => {
    api.fail('patch va1 ', apiError(500, 'InternalError', 'no'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(api.requests.at(-1)).toContain('could not mark as detached: no')
    await run()
    expect(calls).toHaveLength(2)
    expect(api.requests.at(-1)).toBe(REMOVE_FINALIZER)
  })

  it('writes nothing for a forced one that has neither finalizer nor attached', async () => {
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
    expect(api.requests).toEqual(['patch va1/status {"metadata":{"uid":"va1-uid"},"status":{"attached":false}}'])
  })
})

describe('an attachment that goes while its run is under way', () => {
  const again = (): ReturnType<typeof va> => va({ metadata: { uid: 'later' } })
  const LEFT = 'handle-1 on node1-id'

  /** Its finalizer is removed by hand, and another one takes its name. */
  function replaced(): void {
    api.put(again())
  }

  it('leaves its result to nobody: not to the one that has its name, and that one answers for the volume', async () => {
    publish = async () => {
      replaced()
      return { device: '/dev/x' }
    }
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.get('va1')).toMatchObject({ metadata: { uid: 'later' }, status: { attached: false } })
    expect(enqueued).toContain(LEFT)
    expect(await run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(calls).toHaveLength(1)
  })

  it.each([
    { name: 'by the driver', error: undefined },
    { name: 'and the driver refuses', error: new RpcError(CODES.Internal, 'no') },
  ])('is unpublished when no other names the volume and the node: published $name', async ({ error }) => {
    publish = async () => {
      api.objects.delete('va1')
      if (error !== undefined) throw error
      return {}
    }
    expect(await run()).toMatchObject({ kind: 'settled' })
    expect(enqueued).toContain(LEFT)
    expect(await run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(calls.at(-1)).toBe('unpublish handle-1 node1-id {}')
    expect(woken).toEqual([{ on: 'unpublish', name: 'handle-1' }])
    expect(await run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(calls).toHaveLength(2)
  })

  it('is unpublished though the driver went away before it answered, once it is back', async () => {
    publish = async () => {
      api.objects.delete('va1')
      lost = true
      throw new RpcError(CODES.Unavailable, 'connection lost')
    }
    expect(await run()).toMatchObject({ kind: 'again' })
    unpublish = async () => Promise.reject(new RpcError(CODES.Unavailable, 'connection lost'))
    expect(await run({}, LEFT)).toMatchObject({ kind: 'retry' })
    lost = false
    unpublish = async () => {}
    expect(await run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(memory.published.leftBehind(LEFT)).toBeUndefined()
  })

  it.each([
    { name: 'on another node', object: { metadata: { uid: 'other' }, nodeName: 'node2' }, unpublished: true },
    { name: 'of another attacher', object: { metadata: { uid: 'other' }, attacher: 'other' }, unpublished: true },
    {
      name: 'that goes too, without our finalizer',
      object: { metadata: { uid: 'other', deletionTimestamp: TIME, finalizers: ['a/b'] } },
      unpublished: true,
    },
    {
      name: 'that goes too, with our finalizer',
      object: { metadata: { uid: 'other', deletionTimestamp: TIME, finalizers: [FINALIZER] } },
      unpublished: false,
    },
    { name: 'that stays', object: { metadata: { uid: 'other' } }, unpublished: false },
  ])('beside another attachment $name: unpublished $unpublished', async ({ object, unpublished }) => {
    const {
      nodeName = 'node1',
      attacher = DRIVER,
      metadata,
    } = object as { nodeName?: string; attacher?: string; metadata: object }
    const other = va({ metadata: { ...metadata, name: 'va2' } })
    api.put({ ...other, spec: { ...other.spec, nodeName, attacher } } as never)
    publish = async () => {
      api.objects.delete('va1')
      return {}
    }
    await run()
    await run({}, LEFT)
    expect(calls.some((call) => call.startsWith('unpublish'))).toBe(unpublished)
    expect(memory.published.leftBehind(LEFT) === undefined).toBe(unpublished)
  })

  it('takes the secret along for the unpublish', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.put({ metadata: { name: 'creds' }, data: { key: Buffer.from('word').toString('base64') } } as never)
    publish = async () => {
      api.objects.delete('va1')
      return {}
    }
    await run()
    await run({}, LEFT)
    expect(calls.at(-1)).toBe('unpublish handle-1 node1-id {"key":"word"}')
  })

  it.each([
    { code: 'NotFound', outcome: { kind: 'settled' } },
    {
      code: 'Internal',
      outcome: { kind: 'retry', cause: new Error('failed to detach: rpc error: code = Internal desc = no') },
    },
  ] as const)('is detached once more after $code: $outcome.kind', async ({ code, outcome }) => {
    publish = async () => {
      api.objects.delete('va1')
      return {}
    }
    await run()
    unpublish = async () => Promise.reject(new RpcError(CODES[code], 'no'))
    expect(await run({}, LEFT)).toMatchObject(outcome)
    expect(memory.published.leftBehind(LEFT) === undefined).toBe(outcome.kind === 'settled')
  })

  it('is not published any more when its end is known before', async () => {
    api.put(pv({ controllerPublishSecretRef: { name: 'creds', namespace: 'ns' } }))
    api.put({ metadata: { name: 'creds' }, data: {} } as never)
    api.put(va({ metadata: FINALIZED }))
    const get = api.client.get
    const slow = {
      ...api.client,
      get: async (...args: Parameters<typeof get>) => {
        replaced()
        return await get(...args)
      },
    } as KubeClient
    expect(await run({ api: slow })).toEqual({ kind: 'settled' })
    expect(calls).toEqual([])
  })

  it('is asked for once more while the cache holds it, and left alone until the cache has seen its end', async () => {
    publish = async () => {
      late.set('va1', va({ metadata: FINALIZED }))
      api.objects.delete('va1')
      return {}
    }
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.requests.at(-1)).toBe('get va1')
    expect(await run({}, LEFT)).toEqual({ kind: 'settled' })
    expect(calls.at(-1)).toContain('unpublish')
    expect(await run()).toEqual({ kind: 'settled' })
    expect(calls).toHaveLength(2)
    late.clear()
    api.put(va())
    memory.forget('va1')
    await run()
    expect(calls).toHaveLength(3)
  })

  it('is there after all when the server says so at the second look: the write has failed, and is repeated', async () => {
    api.fail('patch va1/status', apiError(404, 'NotFound', 'no such path'))
    expect(await run()).toMatchObject({ kind: 'retry', cause: new Error('failed to mark as attached: no such path') })
    expect(enqueued).toEqual([])
  })

  it('counts as there when the second look fails too', async () => {
    api.fail('patch va1/status', apiError(404, 'NotFound', 'no such path'))
    api.fail('get va1', apiError(500, 'InternalError', 'etcd is away'))
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(enqueued).toEqual([])
  })

  it('comes back for the one that was thought to be gone and is there', async () => {
    api.put(va({ metadata: FINALIZED }))
    memory.markGone({ key: 'va1', uid: 'va1-uid' })
    expect(await run()).toEqual({ kind: 'settled' })
    expect(calls).toHaveLength(1)
  })

  it('is detached when its unpublish has ended, and the one with its name gets nothing of that', async () => {
    api.put(deleting())
    unpublish = async () => replaced()
    expect(await run()).toEqual({ kind: 'settled' })
    expect(api.get('va1')).toMatchObject({ metadata: { uid: 'later' }, status: { attached: false } })
    expect(calls).toHaveLength(1)
  })

  it('shows no error to the one with its name', async () => {
    api.put(deleting())
    unpublish = async () => {
      replaced()
      throw new RpcError(CODES.Internal, 'no')
    }
    await run()
    expect(api.get('va1')).toMatchObject({ status: { attached: false } })
    expect(api.get('va1')).not.toHaveProperty('status.detachError')
  })
})

describe('a volume that was made again before our finalizer was on it', () => {
  beforeEach(() => api.put({ ...pv(), metadata: { name: 'pv1', uid: 'pv1-uid', finalizers: [] } }))

  it.each([
    { name: 'another volume', pv: () => projectVolume({ ...pv(), metadata: { ...pv().metadata, uid: 'later' } }) },
    { name: 'other access modes', pv: () => ({ ...projectVolume(pv()), modes: 0 }) },
    { name: 'none', pv: () => undefined },
  ])('is looked at again in its own line: $name', async ({ pv: answer }) => {
    held = answer
    expect(await run()).toEqual({ kind: 'again' })
    expect([api.requests, calls]).toEqual([['hold pv1'], []])
  })

  it('is decided again as the write has returned it', async () => {
    held = () => ({ ...projectVolume(pv()), deleting: true })
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(calls).toEqual([])
    expect(api.requests.at(-1)).toContain('is marked for deletion')
    expect(own.causes).toEqual([{ on: 'volume', name: 'pv1' }])
  })

  it('keeps the source that was read for another driver', async () => {
    held = () => ({ ...projectVolume(pv()), spec: undefined })
    expect(await run()).toEqual({ kind: 'settled' })
    expect(calls).toEqual(['publish handle-1 node1-id {}'])
  })

  it('is waited for when it is gone', async () => {
    held = () => {
      throw apiError(404, 'NotFound', 'persistentvolumes "pv1" not found')
    }
    expect(await run()).toMatchObject({ kind: 'retry' })
    expect(own.causes).toEqual([{ on: 'volume', name: 'pv1' }])
  })
})

it('a run that was begun in the wrong line does nothing but come again, and keeps its force mark', async () => {
  api.put(va({ metadata: FINALIZED, status: { attached: true } }))
  memory.force('va1')
  expect(await run({ isPlaced: () => false })).toEqual({ kind: 'again' })
  expect([api.requests, calls]).toEqual([[], []])
  await run()
  expect(calls).toHaveLength(1)
})

describe('a publish that was refused', () => {
  it('waits for the volume to leave another node, which a detach of ours says', async () => {
    publish = () => Promise.reject(new RpcError(CODES.FailedPrecondition, 'attached elsewhere'))
    await run()
    expect(own.causes).toEqual([{ on: 'unpublish', name: 'handle-1' }])
    publish = async () => ({})
    await run()
    expect(own.causes).toEqual([])
    api.put(deleting())
    await run()
    expect(woken).toEqual([{ on: 'unpublish', name: 'handle-1' }])
  })

  it('is no cause for an unpublish that was refused itself', async () => {
    api.put(deleting())
    unpublish = () => Promise.reject(new RpcError(CODES.Internal, 'no'))
    await run()
    expect(woken).toEqual([])
  })
})

it('a detach goes to the node id under which the volume was published here', async () => {
  await run()
  api.put(deleting({ annotations: { 'csi.alpha.kubernetes.io/node-id': 'new' } }))
  await run({
    observe: async () =>
      view({
        va: project(deleting()),
        node: { known: 'id', nodeId: 'new' },
        published: [...memory.published.ofAttachment('va1-uid')],
      }),
  })
  expect(calls.at(-1)).toBe('unpublish handle-1 node1-id {}')
  expect([...memory.published.ofAttachment('va1-uid')]).toEqual([])
})
