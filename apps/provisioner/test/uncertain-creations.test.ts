import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type CreateVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { DRIVER, FakeApi, pvc, secret, storageClass, vac } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { CLAIM_FINALIZER, Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const CLAIM = { namespace: 'default', name: 'data' }
const CREDENTIALS = { namespace: 'default', name: 'creds' }
const OWNER = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
const SECRET_KEYS = {
  'csi.storage.k8s.io/provisioner-secret-name': CREDENTIALS.name,
  'csi.storage.k8s.io/provisioner-secret-namespace': CREDENTIALS.namespace,
}
/** The longest time in which a class may be missing before a creation is given up, with the back-off of the retry. */
const GIVEN_UP_MS = 120_000

let clock: FakeClock
let api: FakeApi<ApiError>
let storage: ModelStorage
let requests: CreateVolumeRequest[]
/** The gRPC code of the next answers of CreateVolume. Undefined: success. */
let code: number | undefined
let process: Process

beforeEach(() => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  storage = new ModelStorage()
  requests = []
  code = CODES.DeadlineExceeded
})
afterEach(() => process.kill())

/** Starts a provisioner. An earlier process has crashed. */
function start(finalizeClaims = true): void {
  process = new Process({
    api,
    clock,
    storage,
    controller: [ControllerRpc.MODIFY_VOLUME],
    settings: { finalizeClaims, extraMetadata: true },
    onCreate: (_, request) => void requests.push(structuredClone(request)),
    onDelete: () => {},
    answer: (volume) => {
      if (code !== undefined) throw new RpcError(code, 'no')
      return volume
    },
  })
  process.gate.open()
  process.deliverAtOnce()
}

function putInputs(change: 'first' | 'second'): void {
  const mountOptions = [change]
  api.store(STORAGE_CLASSES, storageClass('sc-1', { parameters: { ...SECRET_KEYS, change }, mountOptions }))
  api.store(VOLUME_ATTRIBUTES_CLASSES, vac('gold', { parameters: { change } }))
  api.store(SECRETS, secret(CREDENTIALS.name, { change }))
}

function deleteInputs(): void {
  api.delete(STORAGE_CLASSES, { name: 'sc-1' })
  api.delete(VOLUME_ATTRIBUTES_CLASSES, { name: 'gold' })
  api.delete(SECRETS, CREDENTIALS)
}

function ask(metadata: object = {}): string {
  const claim = pvc('data', {
    metadata: { annotations: OWNER, ...metadata },
    spec: { volumeAttributesClassName: 'gold' },
  })
  return api.store(PERSISTENT_VOLUME_CLAIMS, claim).metadata?.uid ?? ''
}

/** Creates a claim whose first CreateVolume call has no certain outcome. Returns the UID of the claim. */
async function begin(finalizeClaims = true): Promise<string> {
  putInputs('first')
  start(finalizeClaims)
  const uid = ask()
  await clock.advance(500)
  expect(requests.length).toBeGreaterThan(0)
  return uid
}

/** Creates a volume in a process that crashes, and recreates all inputs. Then starts a provisioner. */
async function crash(): Promise<string> {
  const uid = await begin()
  process.kill()
  putInputs('second')
  code = undefined
  start()
  return uid
}

const claim = () => api.server.get(PERSISTENT_VOLUME_CLAIMS, CLAIM)
const deleteClaim = (): void => api.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM)
const volumeOf = (uid: string) => api.server.get(PERSISTENT_VOLUMES, { name: `pvc-${uid}` })
const orphanEvent = (uid: string): unknown =>
  expect.stringMatching(new RegExp(`^ProvisioningFailed: .*pvc-${uid} may be orphaned in the back end of ${DRIVER}`))

describe('the repetition of a CreateVolume call with an uncertain outcome', () => {
  it('the repeated call equals the first call, except for the Secret, although all its inputs were recreated', async () => {
    const uid = await begin()
    const before = requests.length
    deleteInputs()
    putInputs('second')
    await clock.advance(5_000)
    code = undefined
    await clock.advance(10_000)
    const [first] = requests
    expect(first?.secrets).toEqual({ change: 'first' })
    const repeated = requests.slice(before)
    for (const request of repeated) expect(request).toEqual({ ...first, secrets: { change: 'second' } })
    expect(repeated.length).toBeGreaterThan(1)
    expect(volumeOf(uid)?.spec?.mountOptions).toEqual(['first'])
  })

  it('the repeated call uses the first class although the class now has another provisioner', async () => {
    const uid = await begin()
    api.delete(STORAGE_CLASSES, { name: 'sc-1' })
    api.store(STORAGE_CLASSES, storageClass('sc-1', { provisioner: 'other.example.com' }))
    code = undefined
    await clock.advance(10_000)
    for (const request of requests) expect(request).toEqual(requests[0])
    expect(volumeOf(uid)).toBeDefined()
  })

  it('AlreadyExists after an uncertain call leaves the outcome uncertain, so the call is repeated for a deleted claim', async () => {
    const uid = await begin(false)
    code = CODES.AlreadyExists
    await clock.advance(5_000)
    deleteClaim()
    code = undefined
    await clock.advance(10_000)
    for (const request of requests) expect(request).toEqual(requests[0])
    expect(volumeOf(uid)).toBeDefined()
  })

  it('AlreadyExists in answer to the first call ends the creation', async () => {
    putInputs('first')
    code = CODES.AlreadyExists
    start(false)
    ask()
    await clock.advance(500)
    deleteClaim()
    await clock.advance(60_000)
    expect(requests).toHaveLength(1)
  })

  it.each([true, false])(
    'an uncertain call is repeated although its inputs are deleted with the claim (--finalize-claims=%s)',
    async (finalizeClaims) => {
      const uid = await begin(finalizeClaims)
      deleteInputs()
      deleteClaim()
      code = undefined
      await clock.advance(10_000)
      for (const request of requests) expect(request).toEqual(requests[0])
      expect([volumeOf(uid)?.spec?.claimRef?.uid, claim()]).toEqual([uid, undefined])
    },
  )

  it('an API server that cannot answer the read of the Secret delays the repeated call', async () => {
    const uid = await begin()
    const pass = process.gate.pass.bind(process.gate)
    let isDown = true
    process.gate.pass = (outgoing, effect, passing) => {
      if (!isDown || outgoing.request?.resource !== 'secrets') return pass(outgoing, effect, passing)
      return Promise.reject(new ApiError({ code: 500, reason: 'InternalError', message: 'etcd is away' }))
    }
    deleteClaim()
    code = undefined
    const before = requests.length
    await clock.advance(GIVEN_UP_MS)
    expect([requests.length, claim()?.metadata?.finalizers]).toEqual([before, [CLAIM_FINALIZER]])
    isDown = false
    await clock.advance(GIVEN_UP_MS)
    expect([requests.length, claim()]).toEqual([before + 1, undefined])
    expect(volumeOf(uid)).toBeDefined()
  })

  it('a volume that is too small and was deleted ends the creation, so the call is not repeated for a deleted claim', async () => {
    putInputs('first')
    code = undefined
    start(false)
    const create = storage.create.bind(storage)
    let creations = 0
    storage.create = (request) => {
      creations += 1
      return create(request)
    }
    const uid = ask()
    const pass = process.gate.pass.bind(process.gate)
    process.gate.pass = async (outgoing, effect, passing) => {
      const answer: unknown = await pass(outgoing, effect, passing)
      if (outgoing.label.startsWith('call create'))
        Object.assign((answer as { volume: object }).volume, { capacityBytes: 1n })
      return answer as never
    }
    await clock.advance(500)
    expect([creations, storage.volumes.size, volumeOf(uid)]).toEqual([1, 0, undefined])
    deleteClaim()
    await clock.advance(60_000)
    expect(creations).toBe(1)
  })
})

describe('a creation that a crashed process has begun', () => {
  it.each<[name: string, break_: () => void]>([
    ['class is gone', () => api.delete(STORAGE_CLASSES, { name: 'sc-1' })],
    ['Secret is gone', () => api.delete(SECRETS, CREDENTIALS)],
    ['VolumeAttributesClass is gone', () => api.delete(VOLUME_ATTRIBUTES_CLASSES, { name: 'gold' })],
    ['class has another provisioner', () => api.store(STORAGE_CLASSES, storageClass('sc-1', { provisioner: 'other' }))],
    [
      'class is refused',
      () => api.store(STORAGE_CLASSES, storageClass('sc-1', { parameters: { 'csi.storage.k8s.io/unknown': 'x' } })),
    ],
  ])('a deleted claim is released with an event that names the volume if its %s', async (_, change) => {
    putInputs('first')
    change()
    const uid = ask({ finalizers: [CLAIM_FINALIZER] })
    deleteClaim()
    start()
    await clock.advance(10_000)
    expect(claim()?.metadata?.finalizers).toEqual([CLAIM_FINALIZER])
    await clock.advance(GIVEN_UP_MS)
    expect([claim(), requests]).toEqual([undefined, []])
    expect(process.events.filter((event) => event.includes('orphaned'))).toEqual([orphanEvent(uid)])
  })

  it('a deleted claim is not released if the class returns in time', async () => {
    const uid = ask({ finalizers: [CLAIM_FINALIZER] })
    deleteClaim()
    start()
    await clock.advance(10_000)
    putInputs('first')
    code = undefined
    await clock.advance(1_000)
    expect([claim(), volumeOf(uid)?.spec?.claimRef?.uid]).toEqual([undefined, uid])
    expect(process.events).not.toContainEqual(expect.stringContaining('orphaned'))
  })

  it('a claim whose class was recreated with other parameters keeps the finalizer until the class is as before', async () => {
    const uid = await crash()
    await clock.advance(GIVEN_UP_MS)
    expect(claim()?.metadata?.finalizers).toEqual([CLAIM_FINALIZER])
    putInputs('first')
    await clock.advance(1_000)
    expect(volumeOf(uid)?.spec?.mountOptions).toEqual(['first'])
    expect(claim()?.metadata?.finalizers ?? []).toEqual([])
  })

  it('a deleted claim whose class was recreated with other parameters is released with an event', async () => {
    const uid = await crash()
    await clock.advance(1_000)
    deleteClaim()
    await clock.advance(GIVEN_UP_MS)
    expect(claim()).toBeUndefined()
    expect(process.events).toContainEqual(orphanEvent(uid))
  })
})
